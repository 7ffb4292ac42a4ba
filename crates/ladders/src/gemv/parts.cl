// y = x W over half, four neighbouring elements of y a work-item, K shared by the PARTS work-items of a group that compute
// the same elements.
//
// As `vector`, neighbours read neighbouring columns, so W stays as a layer of a network stores it; as `group`, there are
// enough work-items. One barrier is enough: each of the few sums of a column is added by the work-item that stores it.
//
// Lesson: PARTS is a balance. More of them fill the GPU and hide the latency of loads; each adds a sum through local memory.
//
// PARTS: work-items for the same elements. IMAGE: 1 reads W from an image of n / 4 texels a row.
//
// W has `quads` columns of four, filled with zeros, and k is a multiple of 4: filled with zeros too, x as well.

#ifndef PARTS
#define PARTS 4
#endif
#ifndef IMAGE
#define IMAGE 0
#endif
#define COLUMNS 16
#if IMAGE
#define WEIGHTS read_only image2d_t
#define WEIGHTS_AT(line) read_imagef(w, (int2)(column, line))
#else
#define WEIGHTS global const half *
#define WEIGHTS_AT(line) vload_half4((line) * quads + column, w)
#endif

// Global size: quads, rounded up to a multiple of 16, x PARTS x vectors.
kernel __attribute__((reqd_work_group_size(COLUMNS, PARTS, 1)))
void gemv_parts(global const half *x, WEIGHTS w, global half *y, const uint n, const uint quads, const uint k)
{
    const uint item = get_local_id(0);
    const uint part = get_local_id(1);
    const uint quad = get_global_id(0);
    const uint column = min(quad, quads - 1);
    const uint i = get_global_id(2);
    float4 sum = 0;
    for (uint l = 4 * part; l < k; l += 4 * PARTS) {
        const float4 steps = vload_half4((i * k + l) / 4, x);
        sum += steps.s0 * WEIGHTS_AT(l);
        sum += steps.s1 * WEIGHTS_AT(l + 1);
        sum += steps.s2 * WEIGHTS_AT(l + 2);
        sum += steps.s3 * WEIGHTS_AT(l + 3);
    }
    local float4 sums[PARTS][COLUMNS];
    sums[part][item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part > 0 || quad >= quads)
        return;
    for (uint other = 1; other < PARTS; ++other)
        sum += sums[other][item];
    y += i * n + 4 * quad;
    if (4 * quad + 4 <= n) {
        vstore_half4(sum, 0, y);
    } else {
        vstore_half(sum.s0, 0, y);
        if (4 * quad + 1 < n)
            vstore_half(sum.s1, 1, y);
        if (4 * quad + 2 < n)
            vstore_half(sum.s2, 2, y);
    }
}
