// The range is rounded up to whole groups, and nobody asks whether there is work left.
kernel void rounded_up_range(global const float *in, global float *out) {
    int i = get_global_id(0);
    out[i] = 2.0f * in[i];
    //~^ ERROR out-of-bounds-read
    //~^^ ERROR out-of-bounds-write
}

kernel void rounded_up_range_ok(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = 2.0f * in[i];
}
