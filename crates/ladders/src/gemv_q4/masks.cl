// y = x W with weights in 4 bits: numbers are masked where they are.
//
// A number in bits 4 to 7 of a word is sixteen times too large. Instead of shifting it down, x is made sixteen times smaller:
// once for all outputs and, as sixteen is a power of two, without an error. And 8 need not be subtracted from each number:
// the sum of (number - 8) x is the sum of number x, less 8 times the sum of x, once a block. What remains for each weight is
// a mask, a conversion and the multiply-add.
//
// From an image, a texel is the words of four outputs.
//
// The sums of numbers from 0 to 15 are larger than those of numbers from -8 to 7, and so is their rounding error: the bound
// of this ladder allows for it.
//
// Lesson: count the instructions of each weight, not those of each load.
//
// IMAGE: 1 reads the words from an image. PARTS: work-items of a group that share K; 1 without local memory.
// COLUMNS: work-items of a group side by side.

#ifndef IMAGE
#define IMAGE 0
#endif
#ifndef PARTS
#define PARTS 1
#endif
#ifndef COLUMNS
#define COLUMNS 16
#endif
#if IMAGE
#define WORDS read_only image2d_t
#define WORDS_AT(line) read_imageui(words, (int2)(column, line))
#else
#define WORDS global const uint4 *
#define WORDS_AT(line) words[(line) * columns + column]
#endif
#define MASKED(i) convert_float4(word & (15u << (4 * i)))

// Global size: n / 4, rounded up to a multiple of COLUMNS, x PARTS x vectors. Lines have `columns` vectors of four.
kernel __attribute__((reqd_work_group_size(COLUMNS, PARTS, 1)))
void gemv_q4_masks(global const float *x, WORDS words, global const half *scales, global float *y, const uint n,
                   const uint columns, const uint blocks)
{
    const uint column = min((uint)get_global_id(0), columns - 1);
    const uint i = get_global_id(2);
    global const float *row = x + 32 * i * blocks;
    const float8 smaller = (float8)(1.0f, 0x1p-4f, 0x1p-8f, 0x1p-12f, 0x1p-16f, 0x1p-20f, 0x1p-24f, 0x1p-28f);
    float4 sum = 0;
    for (uint b = get_global_id(1); b < blocks; b += PARTS) {
        float4 of_block = 0;
        float8 of_x = 0;
        for (uint line = 4 * b; line < 4 * b + 4; ++line) {
            const uint4 word = WORDS_AT(line);
            float8 steps = vload8(line, row);
            of_x += steps;
            steps *= smaller;
            of_block += MASKED(0) * steps.s0 + MASKED(1) * steps.s1;
            of_block += MASKED(2) * steps.s2 + MASKED(3) * steps.s3;
            of_block += MASKED(4) * steps.s4 + MASKED(5) * steps.s5;
            of_block += MASKED(6) * steps.s6 + MASKED(7) * steps.s7;
        }
        const float4 four = of_x.lo + of_x.hi;
        const float eights = 8.0f * (four.s0 + four.s1 + (four.s2 + four.s3));
        sum += vload_half4(b * columns + column, scales) * (of_block - eights);
    }
#if PARTS > 1
    local float4 sums[PARTS][COLUMNS];
    const uint item = get_local_id(0);
    sums[get_local_id(1)][item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(1) > 0)
        return;
    for (uint other = 1; other < PARTS; ++other)
        sum += sums[other][item];
#endif
    const uint j = 4 * get_global_id(0);
    y += i * n + j;
    if (j + 4 <= n)
        vstore4(sum, 0, y);
    else {
        if (j < n)
            y[0] = sum.s0;
        if (j + 1 < n)
            y[1] = sum.s1;
        if (j + 2 < n)
            y[2] = sum.s2;
    }
}
