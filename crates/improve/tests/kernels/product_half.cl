#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// No test of the size: the launch has exactly one work-item for each element.
__kernel void product_half(__global const half *a, __global const half *b, __global half *c, int n, int k)
{
    int col = get_global_id(0);
    int row = get_global_id(1);
    half sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
