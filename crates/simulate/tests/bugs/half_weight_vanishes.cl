// A float weight of 1e-9 kept as a half is 0.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_weight_vanishes(global const float *weights, global half *kept) {
    int i = get_global_id(0);
    kept[i] = (half)weights[i]; //~ NOTE half-underflow
}

kernel void half_weight_vanishes_ok(global const float *weights, global half *kept) {
    int i = get_global_id(0);
    kept[i] = (half)(weights[i] * 1048576.0f);
}
