// 200 with a gain of 1.5 does not fit a byte.
kernel void gain_to_byte(global const uchar *in, global uchar *out, float gain) {
    int i = get_global_id(0);
    out[i] = (uchar)(gain * in[i]); //~ WARNING float-to-int-range
}

kernel void gain_to_byte_ok(global const uchar *in, global uchar *out, float gain) {
    int i = get_global_id(0);
    out[i] = convert_uchar_sat(gain * in[i]);
}
