// A scratch buffer made write-only is read back in the second half of the kernel.
kernel void scratch_write_only(global const float *in, global float *scratch, global float *out) {
    int i = get_global_id(0), l = get_local_id(0);
    scratch[i] = 2.0f * in[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = scratch[i - l + 15 - l]; //~ ERROR write-only-read
}
