// C = A * B, one element of C a work-item as a dot product of vectors of four: the kernel that was published
// for the Mali-T604.
//
// Midgard's registers hold four floats and its multiplier has a dot product of four: a row of A and a column
// of B are read four elements at a time, 16 bytes a load. For the column that takes B transposed; rows
// are padded with zeros to a multiple of 4, in both operands, so that the padding adds 0 * 0.
// There are still as many loads as dot products: bandwidth to the cache stays the bound, which is why tiles
// beat it on every GPU since.
//
// HALF: 0 computes in float, 1 in half, the sum included.

#ifndef HALF
#define HALF 0
#endif
#if HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half real;
#else
typedef float real;
#endif

// A: m rows of `vectors` times four elements; B: n such rows (transposed). Global size n x m.
kernel void gemm_float4_dot(global const real *a, global const real *b, global real *c, const uint n,
                            const uint vectors)
{
    const uint column = get_global_id(0);
    const uint row = get_global_id(1);
    real sum = 0;
    for (uint i = 0; i < vectors; ++i)
        sum += dot(vload4(row * vectors + i, a), vload4(column * vectors + i, b));
    c[row * n + column] = sum;
}
