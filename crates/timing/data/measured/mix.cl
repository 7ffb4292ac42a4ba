// Eight elements of each work-item, as far apart as the launch has work-items: a chain of N multiply-adds on each, and
// their sum of products, stored under a condition that never holds. TYPE: float, half2 with HALF, or int with INTEGER.
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define NEVER(v) ((v).x == (half)-1 && (v).y == (half)-1)
#else
#define NEVER(v) ((v) == (TYPE)-1)
#endif
#ifdef INTEGER
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else
#define MULTIPLY_ADD(a, b, c) mad(a, b, c)
#endif

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void mix(global TYPE *data, TYPE seed)
{
    const int apart = get_global_size(0), first = get_global_id(0);
    TYPE element[8], sum = (TYPE)0;
    #pragma unroll
    for (int e = 0; e < 8; ++e) {
        element[e] = data[first + e * apart];
        for (int i = 0; i < N; ++i)
            element[e] = MULTIPLY_ADD(element[e], element[e], seed);
    }
    #pragma unroll
    for (int e = 0; e < 8; e += 2)
        sum = MULTIPLY_ADD(element[e], element[e + 1], sum);
    if (NEVER(sum))
        data[first] = sum;
}
