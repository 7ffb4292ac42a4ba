// As clpeak measures: 16 loads a work-item, a work-group apart.

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if WIDTH == 1
typedef float vector_t;
#define SUM(v) (v)
#elif WIDTH == 2
typedef float2 vector_t;
#define SUM(v) ((v).x + (v).y)
#else
typedef float4 vector_t;
#define SUM(v) ((v).x + (v).y + (v).z + (v).w)
#endif

kernel void stream(global const vector_t *source, global float *sums)
{
    const int first = get_group_id(0) * get_local_size(0) * 16 + get_local_id(0);
    vector_t sum = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j)
        sum += source[first + j * get_local_size(0)];
    sums[get_global_id(0)] = SUM(sum);
}
