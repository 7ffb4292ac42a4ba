// Arguments used in a branch that this launch does not take.
kernel void untaken_branch_ok(
    global const float *in, global const float *bias, global float *out, int mode, float slope) {
    int i = get_global_id(0);
    float value = in[i];
    if (mode == 1) value += bias[i];
    if (mode == 2) value = value < 0.0f ? slope * value : value;
    out[i] = value;
}
