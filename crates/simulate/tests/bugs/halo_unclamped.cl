// Three taps: the first work-item reads before the row, the last one behind it.
kernel void halo_unclamped(global const float *in, global float *out) {
    int i = get_global_id(0);
    out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1]; //~ ERROR out-of-bounds-read
}

kernel void halo_unclamped_ok(global const float *in, global float *out) {
    int i = get_global_id(0), last = get_global_size(0) - 1;
    out[i] = 0.25f * in[max(i - 1, 0)] + 0.5f * in[i] + 0.25f * in[min(i + 1, last)];
}
