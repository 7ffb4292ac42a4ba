// 300 squared is past 65504.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_square(global const half *in, global float *energy) {
    int i = get_global_id(0);
    half square = in[i] * in[i]; //~ WARNING half-overflow
    energy[i] = square;
}

kernel void half_square_ok(global const half *in, global float *energy) {
    int i = get_global_id(0);
    float value = in[i];
    energy[i] = value * value;
}
