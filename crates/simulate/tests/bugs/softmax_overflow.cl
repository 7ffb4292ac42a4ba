// exp(100) is infinite, and so is the sum.
kernel void softmax_overflow(global const float *in, global float *out) {
    int i = get_global_id(0);
    float powers[4], sum = 0.0f;
    for (int k = 0; k < 4; k++) {
        powers[k] = exp(in[4 * i + k]);
        sum += powers[k];
    }
    for (int k = 0; k < 4; k++)
        out[4 * i + k] = powers[k] / sum; //~ WARNING nan-born
}

kernel void softmax_overflow_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    float powers[4], sum = 0.0f, greatest = in[4 * i];
    for (int k = 1; k < 4; k++) greatest = fmax(greatest, in[4 * i + k]);
    for (int k = 0; k < 4; k++) {
        powers[k] = exp(in[4 * i + k] - greatest);
        sum += powers[k];
    }
    for (int k = 0; k < 4; k++) out[4 * i + k] = powers[k] / sum;
}
