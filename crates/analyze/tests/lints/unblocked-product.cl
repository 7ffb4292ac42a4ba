// on: Mali-T604, Mali-G52, Mali-G77, Adreno 640
// outputs: 16
// gain within: 0.08

kernel void slow(global const float *a, global const float *b, global float *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum = mad(a[y * k + i], b[i * n + x], sum); // here
    c[y * n + x] = sum;
}

// A transposed.
kernel void quick(global const float *a, global const float *b, global float *c, int m, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; ++i) {
        const float4 column = vload4(0, a + i * m + 4 * y), row = vload4(0, b + i * n + 4 * x);
        sum[0] = mad((float4)column.x, row, sum[0]);
        sum[1] = mad((float4)column.y, row, sum[1]);
        sum[2] = mad((float4)column.z, row, sum[2]);
        sum[3] = mad((float4)column.w, row, sum[3]);
    }
    for (int row = 0; row < 4; ++row)
        vstore4(sum[row], 0, c + (4 * y + row) * n + 4 * x);
}

// One factor is the same for all work-items: a filter, not a product.
kernel void quick_filter(global const float *in, constant float *weights, global float *out, int width, int count)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < count; ++i)
        sum = mad(in[y * width + x + i], weights[i], sum);
    out[y * width + x] = sum;
}

// An element-wise product of what lies at the same place.
kernel void quick_elements(global const float *a, global const float *b, global float *c, int n, int count)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < count; ++i)
        sum = mad(a[(y * count + i) * n + x], b[(y * count + i) * n + x], sum);
    c[y * n + x] = sum;
}
