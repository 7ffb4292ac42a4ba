__kernel void product(__global const float *a, __global const float *b, __global float *c, int m, int n, int k)
{
    int col = get_global_id(0);
    int row = get_global_id(1);
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
