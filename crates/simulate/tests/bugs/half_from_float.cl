// A float result put into a half.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_from_float(global const float *in, global half *out, float scale) {
    int i = get_global_id(0);
    out[i] = (half)(scale * in[i]); //~ WARNING half-overflow
}

kernel void half_from_float_ok(global const float *in, global half *out, float scale) {
    int i = get_global_id(0);
    out[i] = (half)clamp(scale * in[i], -65504.0f, 65504.0f);
}
