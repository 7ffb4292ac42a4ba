// C = A * B: the textbook's triple loop, its two outer loops handed to the device.
//
// A is m x k, B is k x n, C is m x n, all row-major without gaps. One work-item computes one element of C
// and reads a whole row of A and a whole column of B for it: 2 k loads for 2 k operations. Whatever the
// arithmetic pipes could do, this kernel waits for load/store. All that follows is about doing more
// arithmetic with each loaded element.
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

// Global size n x m. Neighbours along x read neighbouring elements of B and the same element of A: the
// load/store unit serves them with one access each. With x along the rows of C it would be the worst case.
kernel void gemm_naive(global const real *a, global const real *b, global real *c, const uint n, const uint k)
{
    const uint column = get_global_id(0);
    const uint row = get_global_id(1);
    real sum = 0;
    for (uint i = 0; i < k; ++i)
        sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
