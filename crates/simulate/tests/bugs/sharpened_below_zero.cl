// A sharpened pixel falls below zero.
kernel void sharpened_below_zero(global const uchar *in, global uchar *out) {
    int i = get_global_id(0);
    float value = 2.0f * in[i] - in[i ^ 1] - 8.0f;
    out[i] = convert_uchar(value); //~ WARNING float-to-int-range
}

kernel void sharpened_below_zero_ok(global const uchar *in, global uchar *out) {
    int i = get_global_id(0);
    float value = 2.0f * in[i] - in[i ^ 1] - 8.0f;
    out[i] = convert_uchar_sat(value);
}
