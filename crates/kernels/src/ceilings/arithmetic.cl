// The rate of multiply-adds: CHAINS independent chains of vectors of WIDTH, 32 multiply-adds a turn each.
//
// Nothing is loaded, one vector a chain is stored at the end, so the arithmetic pipes alone set the time. A chain
// waits for its own result; several chains and many work-items fill the wait.
//
// What keeps the count honest: the factor is an argument, so the compiler cannot fold two steps into one; every
// lane starts from another value, so it cannot compute one lane for all; everything is stored, so it cannot drop a
// chain. And the result proves the count. Floats: the factor is 1, plus is 1, minus is -30, so each turn adds
// exactly 1, in small whole numbers that have no rounding error; integers of 24 bits likewise. Integers: x * factor + plus
// with an odd factor, wrapping, walks through values that the host computes in closed form.
//
// TYPE:   float, half, double, int, short or char.
// HOW:    0 x * factor + plus, which compilers for CPUs fuse (PoCL's mad() is a multiplication and an addition); 1 mad(), which takes the fastest multiply-add the device has, for floats; 2 mad24() and
//         3 mul24() and an addition, for int.
// HALF:   1 for half.
// DOUBLE: 1 for double.
// WIDTH:  1, 2, 4, 8 or 16.
// CHAINS: 2, 4 or 12.

#ifndef TYPE
#define TYPE float
#define HOW 1
#endif
#ifndef HOW
#define HOW 0
#endif
#ifndef HALF
#define HALF 0
#endif
#ifndef DOUBLE
#define DOUBLE 0
#endif
#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef CHAINS
#define CHAINS 4
#endif

#if HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#if DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if WIDTH == 1
typedef TYPE vector_t;
#define LANES 0
#define STORE(value, index, to) (to)[index] = (value)
#else
typedef JOIN(TYPE, WIDTH) vector_t;
#define STORE(value, index, to) JOIN(vstore, WIDTH)(value, index, to)
#if WIDTH == 2
#define LANES (vector_t)(0, 1)
#elif WIDTH == 4
#define LANES (vector_t)(0, 1, 2, 3)
#elif WIDTH == 8
#define LANES (vector_t)(0, 1, 2, 3, 4, 5, 6, 7)
#else
#define LANES (vector_t)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#endif
#endif

#if CHAINS == 2
#define EACH_CHAIN(X) X(0) X(1)
#elif CHAINS == 4
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3)
#else
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#endif

#if HOW == 1
#define MULTIPLY_ADD(x, by, add) mad(x, by, add)
#elif HOW == 2
#define MULTIPLY_ADD(x, by, add) mad24(x, by, add)
#elif HOW == 3
#define MULTIPLY_ADD(x, by, add) (mul24(x, by) + (add))
#else
#define MULTIPLY_ADD(x, by, add) ((x) * (by) + (add))
#endif

// Work-item i, chain c, lane l starts from i % 4 + c + l.
kernel void mad_rate(global TYPE *results, const TYPE factor, const TYPE plus, const TYPE minus, const uint turns)
{
    const uint i = get_global_id(0);
    const vector_t by = factor;
    const vector_t add = plus;
    const vector_t last = minus;
#define START(c) vector_t x##c = (vector_t)(TYPE)(i % 4 + c) + LANES;
    EACH_CHAIN(START)
    for (uint turn = 0; turn < turns; ++turn) {
#define ADD(c) x##c = MULTIPLY_ADD(x##c, by, add);
#define STEP EACH_CHAIN(ADD)
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
#define FINISH(c) x##c = MULTIPLY_ADD(x##c, by, last);
        EACH_CHAIN(FINISH)
    }
#define STORE_CHAIN(c) STORE(x##c, i * CHAINS + c, results);
    EACH_CHAIN(STORE_CHAIN)
}
