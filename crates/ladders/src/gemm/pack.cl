// Lays an operand out the way a product kernel reads it: transposed where that makes loads contiguous, and
// padded with zeros to whole vectors, so that the inner loop needs no test for the edge.
//
// packed[y][x] = source[y * row_stride + x * column_stride]; 0 where y >= rows or x >= columns. The strides
// say whether this is a copy (n, 1) or a transpose (1, k).
//
// Why zeros do no harm: a padded column lands in rows or columns of C that are not stored. Only padding
// along K enters a stored sum; the plan pads K in both operands, so that it adds 0 * 0. Padding one side
// alone would make 0 * inf = NaN out of an infinity that the other side may hold.
//
// HALF:     0 for float, 1 for half.
// WIDTH:    elements a work-item writes: 2, 4 or 8; 4 for an image.
// TO_IMAGE: 1 writes a texel of four channels instead of a vector of a buffer.

#ifndef HALF
#define HALF 0
#endif
#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef TO_IMAGE
#define TO_IMAGE 0
#endif

#if HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define REAL half
#define WRITE_IMAGE write_imageh
#else
#define REAL float
#define WRITE_IMAGE write_imagef
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if WIDTH == 2
#define EACH_LANE(X) X(0) X(1)
#elif WIDTH == 4
#define EACH_LANE(X) X(0) X(1) X(2) X(3)
#elif WIDTH == 8
#define EACH_LANE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

#if TO_IMAGE
#define PACKED write_only image2d_t
#else
#define PACKED global REAL *
#endif

// Global size: vectors in a packed row x packed rows. Writes are contiguous, reads may be strided.
kernel void gemm_pack(global const REAL *source, PACKED packed, const uint rows, const uint columns,
                      const uint row_stride, const uint column_stride)
{
    const uint vector = get_global_id(0);
    const uint y = get_global_id(1);
    const uint x = vector * WIDTH;
    JOIN(REAL, WIDTH) value = 0;
#define LOAD_LANE(lane) \
    if (x + lane < columns) \
        value.s##lane = source[y * row_stride + (x + lane) * column_stride];
    if (y < rows) {
        EACH_LANE(LOAD_LANE)
    }
#if TO_IMAGE
    WRITE_IMAGE(packed, (int2)(vector, y), value);
#else
    JOIN(vstore, WIDTH)(value, y * get_global_size(0) + vector, packed);
#endif
}
