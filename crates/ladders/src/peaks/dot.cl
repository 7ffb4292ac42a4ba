// The rate of dot products of four bytes, added to a sum: CHAINS independent chains, 32 a turn each.
//
// A chain takes its own four bytes apart: x becomes add + the sum of its bytes, each times one of `by`. Nothing is loaded,
// one int a chain is stored at the end. `by` and `add` are arguments, so the compiler cannot work a step out ahead, and what is
// stored proves the count: the host walks the same way.
//
// DOT:    0 four products and sums, which every device can; 1 cl_khr_integer_dot_product; 2
//         cl_arm_integer_dot_product_accumulate_int8.
// CHAINS: 4 or 8.

#ifndef DOT
#define DOT 0
#endif
#ifndef CHAINS
#define CHAINS 4
#endif

#if DOT == 2
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
#define DOT4(a, b, sum) arm_dot_acc(a, b, sum)
#elif DOT == 1
#define DOT4(a, b, sum) (dot(a, b) + (sum))
#else
#define DOT4(a, b, sum) ((a).x * (b).x + (a).y * (b).y + (a).z * (b).z + (a).w * (b).w + (sum))
#endif

#if CHAINS == 4
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3)
#else
#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

// Work-item i, chain c starts from i % 4 + c.
kernel void dot_rate(global int *results, const int by, const int add, const uint turns)
{
    const uint i = get_global_id(0);
    const char4 weights = as_char4(by);
#define START(c) int x##c = (int)(i % 4 + c);
    EACH_CHAIN(START)
    for (uint turn = 0; turn < turns; ++turn) {
#define ADD(c) x##c = DOT4(as_char4(x##c), weights, add);
#define STEP EACH_CHAIN(ADD)
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
    }
#define STORE_CHAIN(c) results[i * CHAINS + c] = x##c;
    EACH_CHAIN(STORE_CHAIN)
}
