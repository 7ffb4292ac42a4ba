// The product of a matrix, k halves a row, with a vector: y = W x. A work-group of 64 computes one element of y from a
// buffer, or four from an image, as the published kernels do.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

#define PRODUCT(rows, weights, each)                                                                                    \
    const int lane = get_local_id(0), first = get_group_id(0) * rows;                                                  \
    float sum[rows];                                                                                                   \
    for (int row = 0; row < rows; ++row)                                                                               \
        sum[row] = 0;                                                                                                  \
    each {                                                                                                             \
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

// Every 64th vector of four; for an unknown k, and for 1024, unrolled.
#define EACH for (int i = lane; i < quads; i += 64)
#define EACH_OF_1024 _Pragma("unroll") for (int i = lane, turn = 0; turn < 4; i += 64, ++turn)

#define FROM_BUFFER(i, row) vload_half4((row) * quads + (i), matrix)
#define FROM_IMAGE(i, row) convert_float4(read_imageh(matrix, nearest, (int2)(i, row)))

kernel void row_vector_buffer(global const half *x, global const half *matrix, global half *y, int quads)
{
    PRODUCT(1, FROM_BUFFER, EACH)
}

kernel void row_vector_image(global const half *x, read_only image2d_t matrix, global half *y, int quads)
{
    PRODUCT(4, FROM_IMAGE, EACH_OF_1024)
}

// Reads of half4. Each work-group of 64 reads a part of its own, 64 after 64; four reads an iteration, as drivers unroll.
#define STREAM(read)                                                                                                   \
    const int first = get_group_id(0) * 64 * reads + get_local_id(0);                                                  \
    float4 sum = 0;                                                                                                    \
    for (int j = 0; j < reads; j += 4)                                                                                 \
        _Pragma("unroll") for (int k = 0; k < 4; ++k) {                                                                \
            const int i = first + (j + k) * 64;                                                                        \
            sum += read;                                                                                               \
        }                                                                                                              \
    sums[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;

kernel void stream_buffer(global const half *source, global float *sums, int reads)
{
    STREAM(vload_half4(i, source))
}

kernel void stream_image(read_only image2d_t source, global float *sums, int reads)
{
    STREAM(convert_float4(read_imageh(source, nearest, (int2)(i & 4095, i >> 12))))
}
