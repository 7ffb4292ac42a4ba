// 16.16 fixed point holds numbers below 32768.
kernel void fixed_point_overflow(global const float *in, global int *out) {
    int i = get_global_id(0);
    out[i] = (int)(in[i] * 65536.0f); //~ WARNING float-to-int-range
}

kernel void fixed_point_overflow_ok(global const float *in, global int *out) {
    int i = get_global_id(0);
    out[i] = (int)(clamp(in[i], -32768.0f, 32767.0f) * 65536.0f);
}
