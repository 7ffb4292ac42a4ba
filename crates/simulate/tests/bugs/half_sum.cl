// 64 times 2000 is past 65504.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_sum(global const half *in, global half *means) {
    int i = get_global_id(0);
    half sum = 0.0h;
    for (int k = 0; k < 64; k++)
        sum += in[64 * i + k]; //~ WARNING half-overflow
    means[i] = sum / 64.0h;
}

kernel void half_sum_ok(global const half *in, global half *means) {
    int i = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < 64; k++) sum += in[64 * i + k];
    means[i] = sum / 64.0f;
}
