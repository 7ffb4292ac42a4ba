// Floats divide by zero: an infinity is a value.
kernel void divided_floats_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    out[i] = (in[i] + 1.0f) / in[i];
}
