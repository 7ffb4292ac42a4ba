// Sums of 16 vectors of WIDTH floats a work-item. Neighbours read neighbouring vectors.
//
// APART: what is between the vectors of a work-item: get_local_size(0) or get_global_size(0).
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if WIDTH == 1
typedef float vector_t;
#define SUM(v) (v)
#else
typedef JOIN(float, WIDTH) vector_t;
#define SUM2(v) ((v).s0 + (v).s1)
#define SUM4(v) (SUM2((v).lo) + SUM2((v).hi))
#define SUM8(v) (SUM4((v).lo) + SUM4((v).hi))
#define SUM16(v) (SUM8((v).lo) + SUM8((v).hi))
#define SUM(v) JOIN(SUM, WIDTH)(v)
#endif

kernel void stream_near(global const vector_t *in, global float *out)
{
    int at = get_group_id(0) * get_local_size(0) * 16 + get_local_id(0);
    vector_t sum = 0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        sum += in[at];
        at += get_local_size(0);
    }
    out[get_global_id(0)] = SUM(sum);
}

kernel void stream_far(global const vector_t *in, global float *out)
{
    int at = get_global_id(0);
    vector_t sum = 0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
        sum += in[at];
        at += get_global_size(0);
    }
    out[get_global_id(0)] = SUM(sum);
}
