// A mean of halves in a half: the sum stops growing at 2048 times the numbers.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void half_mean(global const half *in, global half *out) {
    half sum = 0;
    for (int k = 0; k < 4096; k++)
        sum += in[k]; //~ WARNING accuracy-lost
    out[0] = sum / (half)4096;
}

kernel void half_mean_ok(global const half *in, global half *out) {
    float sum = 0;
    for (int k = 0; k < 4096; k++)
        sum += (float)in[k];
    out[0] = (half)(sum / 4096);
}
