// Dependent multiply-adds, as clpeak runs them: x and y take turns, vectors of WIDTH, 16 * TURNS of them.
//
// TYPE: float, half, double or int. INTEGER: 1 for int. WIDTH: 1, 2, 4, 8 or 16.
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if WIDTH == 1
typedef TYPE vector_t;
#define FIRST a
#define SUM(v) (v)
#else
typedef JOIN(TYPE, WIDTH) vector_t;
#define SUM2(v) ((v).s0 + (v).s1)
#define SUM4(v) (SUM2((v).lo) + SUM2((v).hi))
#define SUM8(v) (SUM4((v).lo) + SUM4((v).hi))
#define SUM16(v) (SUM8((v).lo) + SUM8((v).hi))
#define SUM(v) JOIN(SUM, WIDTH)(v)
#if WIDTH == 2
#define FIRST (vector_t)(a, a + 1)
#elif WIDTH == 4
#define FIRST (vector_t)(a, a + 1, a + 2, a + 3)
#elif WIDTH == 8
#define FIRST (vector_t)(a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7)
#else
#define FIRST \
    (vector_t)(a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7, a + 8, a + 9, a + 10, a + 11, a + 12, \
               a + 13, a + 14, a + 15)
#endif
#endif
#ifdef INTEGER
#define MULTIPLY_ADD(x, y) ((y) * (x) + (y))
#else
#define MULTIPLY_ADD(x, y) mad(y, x, y)
#endif
#define PAIR x = MULTIPLY_ADD(x, y); y = MULTIPLY_ADD(y, x);
#define SIXTEEN PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR

kernel void chain(global TYPE *out, TYPE a)
{
    vector_t x = FIRST, y = (vector_t)(TYPE)get_local_id(0);
    for (int turn = 0; turn < TURNS; ++turn) { SIXTEEN }
    out[get_global_id(0)] = SUM(y);
}
