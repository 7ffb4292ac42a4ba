// The product of a matrix, k halves a row, with a vector: y = W x. A work-group of 64 computes one element of y from a
// buffer, or four from an image, as the published kernels do.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

#define PRODUCT(rows, weights)                                                                                         \
    const int lane = get_local_id(0), first = get_group_id(0) * rows;                                                  \
    float sum[rows];                                                                                                   \
    for (int row = 0; row < rows; ++row)                                                                               \
        sum[row] = 0;                                                                                                  \
    for (int i = lane; i < quads; i += 64) {                                                                           \
        const float4 part = vload_half4(i, x);                                                                         \
        for (int row = 0; row < rows; ++row)                                                                           \
            sum[row] += dot(part, weights(i, first + row));                                                            \
    }                                                                                                                  \
    local float partial[rows][64];                                                                                     \
    for (int row = 0; row < rows; ++row)                                                                               \
        partial[row][lane] = sum[row];                                                                                 \
    for (int apart = 32; apart > 0; apart >>= 1) {                                                                     \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        if (lane < apart)                                                                                              \
            for (int row = 0; row < rows; ++row)                                                                       \
                partial[row][lane] += partial[row][lane + apart];                                                      \
    }                                                                                                                  \
    if (lane == 0)                                                                                                     \
        for (int row = 0; row < rows; ++row)                                                                           \
            vstore_half(partial[row][0], first + row, y);

#define FROM_BUFFER(i, row) vload_half4((row) * quads + (i), matrix)
#define FROM_IMAGE(i, row) convert_float4(read_imageh(matrix, nearest, (int2)(i, row)))

kernel void row_vector_buffer(global const half *x, global const half *matrix, global half *y, int quads)
{
    PRODUCT(1, FROM_BUFFER)
}

kernel void row_vector_image(global const half *x, read_only image2d_t matrix, global half *y, int quads)
{
    PRODUCT(4, FROM_IMAGE)
}

// Reads of half4. Each work-group of 64 reads a part of its own, 64 after 64.
kernel void stream_buffer(global const half *source, global float *sums, int reads)
{
    const int first = get_group_id(0) * 64 * reads + get_local_id(0);
    float4 sum = 0;
    for (int j = 0; j < reads; ++j)
        sum += vload_half4(first + j * 64, source);
    sums[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}

kernel void stream_image(read_only image2d_t source, global float *sums, int reads)
{
    const int first = get_group_id(0) * 64 * reads + get_local_id(0);
    float4 sum = 0;
    for (int j = 0; j < reads; ++j) {
        const int i = first + j * 64;
        sum += convert_float4(read_imageh(source, nearest, (int2)(i & 4095, i >> 12)));
    }
    sums[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}
