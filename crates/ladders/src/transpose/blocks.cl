// The transpose of a matrix of float, a block of 4x4 elements a work-item, turned around in registers.
//
// Four 16-byte loads, four 16-byte stores, nothing between them but names: a swizzle is free on Midgard and
// a matter of register numbers everywhere else. Reads and writes both come in whole vectors, and four
// lines are touched for 16 elements instead of 16.
//
// Blocks that hang over an edge go element by element, so nothing is read or written outside. That costs the
// last row and column of blocks, not the inner ones. vload4 and vstore4 need no alignment beyond
// a float's, so any width and height do.

// Global size: blocks in a row x blocks in a column.
kernel void transpose_blocks(global const float *source, global float *destination, const uint width,
                             const uint height)
{
    const uint x = 4 * get_global_id(0);
    const uint y = 4 * get_global_id(1);
    if (x + 4 <= width && y + 4 <= height) {
        global const float *from = source + y * width + x;
        const float4 r0 = vload4(0, from);
        const float4 r1 = vload4(0, from + width);
        const float4 r2 = vload4(0, from + 2 * width);
        const float4 r3 = vload4(0, from + 3 * width);
        global float *to = destination + x * height + y;
        vstore4((float4)(r0.s0, r1.s0, r2.s0, r3.s0), 0, to);
        vstore4((float4)(r0.s1, r1.s1, r2.s1, r3.s1), 0, to + height);
        vstore4((float4)(r0.s2, r1.s2, r2.s2, r3.s2), 0, to + 2 * height);
        vstore4((float4)(r0.s3, r1.s3, r2.s3, r3.s3), 0, to + 3 * height);
    } else {
        for (uint j = y; j < min(y + 4, height); ++j)
            for (uint i = x; i < min(x + 4, width); ++i)
                destination[i * height + j] = source[j * width + i];
    }
}
