// A product of rows whose sum of halves stagnates: fused, in vectors, and with two sums that take turns.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void half_dot(global const half4 *in, global half4 *out) {
    half4 even = 0, odd = 0;
    for (int k = 0; k < 8192; k += 2) {
        even = fma(in[k], (half4)3, even); //~ WARNING accuracy-lost
        odd = odd - in[k + 1]; //~ WARNING accuracy-lost
    }
    out[0] = even;
    out[1] = odd;
}

// Parts that stay small.
kernel void half_dot_ok(global const half4 *in, global half4 *out) {
    float4 even = 0, odd = 0;
    for (int j = 0; j < 8192; j += 64) {
        half4 a = 0, b = 0;
        for (int k = j; k < j + 64; k += 2) {
            a = fma(in[k], (half4)3, a);
            b = b - in[k + 1];
        }
        even += convert_float4(a);
        odd += convert_float4(b);
    }
    out[0] = convert_half4(even / 64);
    out[1] = convert_half4(odd / 64);
}
