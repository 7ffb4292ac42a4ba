// A layer without bias passes NULL; the kernel must ask.
kernel void optional_bias(global const float *in, global const float *bias, global float *out) {
    int i = get_global_id(0);
    out[i] = fmax(in[i] + bias[i], 0.0f); //~ ERROR null-pointer
}

kernel void optional_bias_ok(global const float *in, global const float *bias, global float *out) {
    int i = get_global_id(0);
    out[i] = fmax(in[i] + (bias ? bias[i] : 0.0f), 0.0f);
}
