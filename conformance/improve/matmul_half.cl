#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define TYPE half
kernel void matmul_half(global const TYPE *a, global const TYPE *b, global TYPE *c, const int m, const int n, const int k)
{
    int i = get_global_id(1);
    int j = get_global_id(0);
    if (i >= m || j >= n) return;
    TYPE sum = 0;
    for (int p = 0; p < k; ++p)
        sum = fma(a[i * k + p], b[p * n + j], sum);
    c[i * n + j] = sum;
}
