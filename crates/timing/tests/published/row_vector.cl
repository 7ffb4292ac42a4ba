// The product of a row vector with a matrix whose rows are stored one after another, k halves each: y = W x. A work-group
// of 64 computes four elements of y.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

#define PRODUCT(weights)                                                                                               \
    const int lane = get_local_id(0), first = get_group_id(0) * 4;                                                     \
    float sum[4] = {0, 0, 0, 0};                                                                                       \
    for (int i = lane; i < quads; i += 64) {                                                                           \
        const float4 part = vload_half4(i, x);                                                                         \
        _Pragma("unroll") for (int row = 0; row < 4; ++row) sum[row] += dot(part, weights(i, first + row));            \
    }                                                                                                                  \
    local float partial[4][64];                                                                                        \
    for (int row = 0; row < 4; ++row)                                                                                  \
        partial[row][lane] = sum[row];                                                                                 \
    for (int apart = 32; apart > 0; apart >>= 1) {                                                                     \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        if (lane < apart)                                                                                              \
            for (int row = 0; row < 4; ++row)                                                                          \
                partial[row][lane] += partial[row][lane + apart];                                                      \
    }                                                                                                                  \
    if (lane < 4)                                                                                                      \
        vstore_half(partial[lane][0], first + lane, y);

#define FROM_BUFFER(i, row) vload_half4((row) * quads + (i), matrix)
#define FROM_IMAGE(i, row) convert_float4(read_imageh(matrix, nearest, (int2)(i, row)))

kernel void row_vector_buffer(global const half *x, global const half *matrix, global half *y, int quads)
{
    PRODUCT(FROM_BUFFER)
}

kernel void row_vector_image(global const half *x, read_only image2d_t matrix, global half *y, int quads)
{
    PRODUCT(FROM_IMAGE)
}

// Reads of half4, consecutive work-items next to each other; 16 reads a work-item.
kernel void stream_buffer(global const half *source, global float *sums)
{
    const int i = get_global_id(0), all = get_global_size(0);
    float4 sum = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j)
        sum += vload_half4(j * all + i, source);
    sums[i] = sum.x + sum.y + sum.z + sum.w;
}

kernel void stream_image(read_only image2d_t source, global float *sums)
{
    const int i = get_global_id(0), all = get_global_size(0);
    float4 sum = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j)
        sum += read_imagef(source, nearest, (int2)((j * all + i) & 4095, (j * all + i) >> 12));
    sums[i] = sum.x + sum.y + sum.z + sum.w;
}
