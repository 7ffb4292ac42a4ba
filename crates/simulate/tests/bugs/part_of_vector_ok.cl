// One component is written, through memory that may only be written: the compiler loads the others to put them back.
kernel void part_of_vector_ok(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    out[i].y = in[i];
    out[i].s02 = (float2)(in[i], 1);
}
