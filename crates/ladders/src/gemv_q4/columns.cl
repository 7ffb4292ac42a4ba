// y = x W with weights in 4 bits, packed by columns: WIDTH neighbouring elements of y a work-item.
//
// The weights are packed once for all products. A word of 32 bits has eight numbers of one output, the first in the lowest
// bits; the words of neighbouring outputs are neighbours. So the work-items of a warp read whole lines, and one load brings
// eight weights for each output. Scales are packed in the same way, one line for each block.
//
// With four outputs, a work-item loads 16 bytes at a time, the most that one instruction loads, and x serves all four.
//
// Lesson: memory no longer bounds it. Each weight costs a shift, a mask, a subtraction and a conversion before its
// multiply-add: unpacking takes four times as long as the product.
//
// WIDTH: outputs of a work-item, 1 or 4.

#ifndef WIDTH
#define WIDTH 4
#endif
#if WIDTH == 1
typedef float lanes_t;
typedef uint words_t;
#define TO_FLOAT(word, i) convert_float(as_int(((word) >> (4 * i)) & 15) - 8)
#define LOAD_SCALE(at) vload_half(at, scales)
#else
typedef float4 lanes_t;
typedef uint4 words_t;
#define TO_FLOAT(word, i) convert_float4(as_int4(((word) >> (4 * i)) & 15) - 8)
#define LOAD_SCALE(at) vload_half4(at, scales)
#endif

// Global size: n / WIDTH, rounded up to whole work-groups, x vectors. Lines have `columns` vectors of WIDTH; x is filled up with zeros to whole blocks.
kernel void gemv_q4_columns(global const float *x, global const words_t *words, global const half *scales,
                            global float *y, const uint n, const uint columns, const uint blocks)
{
    const uint column = get_global_id(0);
    const uint i = get_global_id(1);
    const uint j = WIDTH * column;
    if (j >= n)
        return;
    global const float *row = x + 32 * i * blocks;
    lanes_t sum = 0;
    for (uint b = 0; b < blocks; ++b) {
        lanes_t of_block = 0;
        for (uint line = 4 * b; line < 4 * b + 4; ++line) {
            const words_t word = words[line * columns + column];
            const float8 steps = vload8(line, row);
            of_block += TO_FLOAT(word, 0) * steps.s0 + TO_FLOAT(word, 1) * steps.s1;
            of_block += TO_FLOAT(word, 2) * steps.s2 + TO_FLOAT(word, 3) * steps.s3;
            of_block += TO_FLOAT(word, 4) * steps.s4 + TO_FLOAT(word, 5) * steps.s5;
            of_block += TO_FLOAT(word, 6) * steps.s6 + TO_FLOAT(word, 7) * steps.s7;
        }
        sum += LOAD_SCALE(b * columns + column) * of_block;
    }
#if WIDTH == 1
    y[i * n + j] = sum;
#else
    y += i * n + j;
    if (j + 4 <= n)
        vstore4(sum, 0, y);
    else {
        y[0] = sum.s0;
        if (j + 1 < n)
            y[1] = sum.s1;
        if (j + 2 < n)
            y[2] = sum.s2;
    }
#endif
}
