// The bandwidth of buffers: reading, writing and copying vectors of WIDTH floats.
//
// Each work-item moves PER_ITEM vectors, a whole global size apart, so that at any moment neighbouring work-items
// touch neighbouring vectors. The buffers are several times the last cache, each byte is touched once.
//
// WIDTH:    1, 2, 4, 8 or 16.
// PER_ITEM: vectors a work-item moves.

#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef PER_ITEM
#define PER_ITEM 16
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if WIDTH == 1
typedef float vector_t;
#define LOAD(index, from) (from)[index]
#define STORE(value, index, to) (to)[index] = (value)
#else
typedef JOIN(float, WIDTH) vector_t;
#define LOAD(index, from) JOIN(vload, WIDTH)(index, from)
#define STORE(value, index, to) JOIN(vstore, WIDTH)(value, index, to)
#endif

// Adds up the lanes of a vector.
#define SUM_1(v) (v)
#define SUM_2(v) ((v).s0 + (v).s1)
#define SUM_4(v) (SUM_2((v).s01) + SUM_2((v).s23))
#define SUM_8(v) (SUM_4((v).lo) + SUM_4((v).hi))
#define SUM_16(v) (SUM_8((v).lo) + SUM_8((v).hi))

// One sum a work-item: without it the compiler would drop the loads. The values are small whole numbers, so the
// sum is exact in any order.
kernel void read_bandwidth(global const float *source, global float *sums)
{
    const uint i = get_global_id(0);
    const uint apart = get_global_size(0);
    vector_t sum = 0;
#pragma unroll
    for (uint j = 0; j < PER_ITEM; ++j)
        sum += LOAD(j * apart + i, source);
    sums[i] = JOIN(SUM_, WIDTH)(sum);
}

// Every lane of vector v becomes `start` + v % 256.
kernel void write_bandwidth(global float *destination, const float start)
{
    const uint i = get_global_id(0);
    const uint apart = get_global_size(0);
#pragma unroll
    for (uint j = 0; j < PER_ITEM; ++j)
        STORE((vector_t)(start + (j * apart + i) % 256), j * apart + i, destination);
}

kernel void copy_bandwidth(global const float *source, global float *destination)
{
    const uint i = get_global_id(0);
    const uint apart = get_global_size(0);
#pragma unroll
    for (uint j = 0; j < PER_ITEM; ++j)
        STORE(LOAD(j * apart + i, source), j * apart + i, destination);
}
