// The steps of the published product of half matrices (docs/model.md), rewritten from their description: C = A B, all sizes
// multiples of 4; dimension 0 runs along a row of C.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

kernel void naive(global const half *a, global const half *b, global half *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    half sum = 0;
    for (int i = 0; i < k; ++i)
        sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;
}

#define STORE(sum)                                                                                                     \
    for (int row = 0; row < 4; ++row)                                                                                  \
        vstore4(sum[row], 0, c + (4 * y + row) * n + 4 * x);

// A transposed: column i of A is a row in memory.
kernel void transposed_a_4x4_vload4(global const half *a, global const half *b, global half *c, int m, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    half4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; ++i) {
        const half4 column = vload4(0, a + i * m + 4 * y), row = vload4(0, b + i * n + 4 * x);
        sum[0] += column.x * row;
        sum[1] += column.y * row;
        sum[2] += column.z * row;
        sum[3] += column.w * row;
    }
    STORE(sum)
}

kernel void image_a_image_b(read_only image2d_t a, read_only image2d_t b, write_only image2d_t c, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    half4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; ++i) {
        const half4 column = read_imageh(a, nearest, (int2)(y, i)), row = read_imageh(b, nearest, (int2)(x, i));
        sum[0] += column.x * row;
        sum[1] += column.y * row;
        sum[2] += column.z * row;
        sum[3] += column.w * row;
    }
    for (int row = 0; row < 4; ++row)
        write_imageh(c, (int2)(x, 4 * y + row), sum[row]);
}

kernel void image_a_buffer_b(read_only image2d_t a, global const half *b, global half *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    half4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; ++i) {
        const half4 column = read_imageh(a, nearest, (int2)(y, i)), row = vload4(0, b + i * n + 4 * x);
        sum[0] += column.x * row;
        sum[1] += column.y * row;
        sum[2] += column.z * row;
        sum[3] += column.w * row;
    }
    STORE(sum)
}

kernel void image_a_buffer_b_fma(read_only image2d_t a, global const half *b, global half *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    half4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k; i += 2) {
        const half4 column0 = read_imageh(a, nearest, (int2)(y, i)), row0 = vload4(0, b + i * n + 4 * x);
        const half4 column1 = read_imageh(a, nearest, (int2)(y, i + 1)), row1 = vload4(0, b + (i + 1) * n + 4 * x);
        sum[0] = fma((half4)column1.x, row1, fma((half4)column0.x, row0, sum[0]));
        sum[1] = fma((half4)column1.y, row1, fma((half4)column0.y, row0, sum[1]));
        sum[2] = fma((half4)column1.z, row1, fma((half4)column0.z, row0, sum[2]));
        sum[3] = fma((half4)column1.w, row1, fma((half4)column0.w, row0, sum[3]));
    }
    STORE(sum)
}
