// 0 / 0, and infinity times 0.
kernel void divide_and_multiply(global const float *in, global float *out, float scale) {
    int i = get_global_id(0);
    out[i] = in[i] / scale * scale; //~ WARNING nan-born
}

kernel void divide_and_multiply_ok(global const float *in, global float *out, float scale) {
    int i = get_global_id(0);
    float divisor = scale == 0.0f ? 1.0f : scale;
    out[i] = in[i] / divisor * scale;
}
