// Kernels that measure memory as published benchmarks do.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

// One work-item: each load's address is the result of the one before.
kernel void follow_buffer(global const int *next, global int *last, int steps)
{
    int at = 0;
    for (int i = 0; i < steps; ++i)
        at = next[at];
    last[0] = at;
}

kernel void follow_image(read_only image1d_t next, global int *last, int steps)
{
    int at = 0;
    for (int i = 0; i < steps; ++i)
        at = read_imagei(next, nearest, at).x;
    last[0] = at;
}

// Reads of float4 within mask + 1 vectors. The reads of a work-item are a work-group apart. Each work-group starts elsewhere,
// so that none reads what another has just read; those of the published kernel drift apart.
#define READS 64
#define START (get_group_id(0) * get_local_size(0) * (READS + 5) + get_local_id(0))
#define READ_ALL(read)                                                                                                 \
    float4 sum = 0;                                                                                                    \
    int at = START & mask;                                                                                             \
    const int apart = get_local_size(0);                                                                               \
    for (int i = 0; i < READS / 16; ++i)                                                                               \
        _Pragma("unroll") for (int j = 0; j < 16; ++j) {                                                               \
            sum += read;                                                                                               \
            at = (at + apart) & mask;                                                                                  \
        }

kernel void read_buffer(global const float4 *source, global float4 *sums, int mask)
{
    READ_ALL(source[at])
    sums[get_local_id(0)] = sum;
}

kernel void read_image(read_only image1d_t source, global float4 *sums, int mask)
{
    READ_ALL(read_imagef(source, nearest, at))
    sums[get_local_id(0)] = sum;
}

kernel void read_local(local float4 *source, global float4 *sums, int mask)
{
    source[get_local_id(0) & mask] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    READ_ALL(source[at])
    sums[get_local_id(0)] = sum;
}
