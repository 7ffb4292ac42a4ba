// Local memory is passed and limits how many groups run at once, for nothing.
kernel void unused_scratch(global const float *in, global float *out, local float *scratch)
//~^ NOTE unused-argument
{
    int i = get_global_id(0);
    out[i] = in[i] + in[i ^ 1];
}

kernel void unused_scratch_ok(global const float *in, global float *out, local float *scratch) {
    int i = get_global_id(0), l = get_local_id(0);
    scratch[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = scratch[l] + scratch[l ^ 1];
}
