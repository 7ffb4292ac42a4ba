// 1e-4 squared is less than half of the least half.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_product_vanishes(global const half *in, global float *squares) {
    int i = get_global_id(0);
    half square = in[i] * in[i]; //~ NOTE half-underflow
    squares[i] = square;
}

kernel void half_product_vanishes_ok(global const half *in, global float *squares) {
    int i = get_global_id(0);
    half scaled = in[i] * 1024.0h;
    squares[i] = scaled * scaled * (1.0f / 1048576.0f);
}
