// y = x W over half, a work-group of 64 for ROWS elements of y.
//
// W is stored output by output: a row of `quads` vectors of four has the weights of one output. The work-items of a group
// read neighbouring vectors of a row, each every 64th, and their sums are added up in local memory, in halves.
//
// This is how kernels published for an Adreno 620 work: one row from a buffer, four from an image. The second saves loads of
// x, which serve four rows, and reads W through the texture unit.
//
// Lesson: dividing K gives enough work-items for any GPU, but the end costs: six barriers for 64 work-items, in which fewer
// and fewer have something to do. A short row has little else.
//
// ROWS:  elements of y for each group. IMAGE: 1 reads W from an image with a texel for four weights.

#ifndef ROWS
#define ROWS 1
#endif
#ifndef IMAGE
#define IMAGE 0
#endif
#if IMAGE
#define WEIGHTS read_only image2d_t
#define WEIGHTS_AT(row) read_imagef(w, (int2)(l, row))
#else
#define WEIGHTS global const half *
#define WEIGHTS_AT(row) vload_half4((row) * quads + l, w)
#endif

// Global size: 64 x rows of W / ROWS, x vectors. Rows of W are filled up with zeros to a multiple of ROWS, and so is K.
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void gemv_group(global const half *x, WEIGHTS w, global half *y, const uint n, const uint quads)
{
    const uint lane = get_local_id(0);
    const uint first = get_group_id(0) * ROWS;
    const uint i = get_global_id(1);
    float sum[ROWS];
    for (uint row = 0; row < ROWS; ++row)
        sum[row] = 0;
    for (uint l = lane; l < quads; l += 64) {
        const float4 steps = vload_half4(i * quads + l, x);
        for (uint row = 0; row < ROWS; ++row)
            sum[row] += dot(steps, WEIGHTS_AT(first + row));
    }
    local float sums[ROWS][64];
    for (uint row = 0; row < ROWS; ++row)
        sums[row][lane] = sum[row];
    for (uint apart = 32; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < apart)
            for (uint row = 0; row < ROWS; ++row)
                sums[row][lane] += sums[row][lane + apart];
    }
    if (lane == 0)
        for (uint row = 0; row < ROWS; ++row)
            if (first + row < n)
                vstore_half(sums[row][0], i * n + first + row, y);
}
