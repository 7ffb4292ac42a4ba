// The guard is always true: `size_t` has no negative numbers.
kernel void unsigned_guard(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float left = 0.0f;
    if (i - 1 >= 0) left = in[i - 1]; //~ ERROR out-of-bounds-read
    out[i] = in[i] - left;
}

kernel void unsigned_guard_ok(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float left = 0.0f;
    if (i >= 1) left = in[i - 1];
    out[i] = in[i] - left;
}
