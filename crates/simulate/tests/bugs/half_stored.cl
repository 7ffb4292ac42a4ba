// The same through vstore_half, which needs no half arithmetic.
kernel void half_stored(global const float *in, global half *out, float scale) {
    int i = get_global_id(0);
    vstore_half(scale * in[i], i, out); //~ WARNING half-overflow
}

kernel void half_stored_ok(global const float *in, global half *out, float scale) {
    int i = get_global_id(0);
    vstore_half(fmin(scale * in[i], 65504.0f), i, out);
}
