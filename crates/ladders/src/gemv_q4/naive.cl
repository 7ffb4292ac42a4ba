// y = x W with weights in 4 bits, one element of y a work-item, the blocks as a GGUF file stores them.
//
// A block of Q4_0 has 32 weights of one output: a scale in half precision, then 16 bytes. The lower four bits of byte l are
// weight l, the upper four weight 16 + l; each weight is scale times (number - 8). So 32 weights are 18 bytes, where floats
// would be 128: the product reads a seventh of the memory.
//
// Lesson: the layout that saves memory on the disk wastes it here. Neighbouring work-items read blocks that are a whole row
// apart, byte by byte: each load touches as many cache lines as there are work-items, for one byte of each.

// Global size: n, rounded up to whole work-groups, x vectors. x is filled up with zeros to whole blocks.
kernel void gemv_q4_naive(global const float *x, global const uchar *stored, global float *y, const uint n,
                          const uint blocks)
{
    const uint j = get_global_id(0);
    const uint i = get_global_id(1);
    if (j >= n)
        return;
    global const uchar *block = stored + 18 * j * blocks;
    global const float *steps = x + 32 * i * blocks;
    float sum = 0;
    for (uint b = 0; b < blocks; ++b) {
        float of_block = 0;
        for (uint l = 0; l < 16; ++l) {
            const uint both = block[2 + l];
            of_block += (float)((int)(both & 15) - 8) * steps[l];
            of_block += (float)((int)(both >> 4) - 8) * steps[16 + l];
        }
        sum += vload_half(0, (global const half *)block) * of_block;
        block += 18;
        steps += 32;
    }
    y[i * n + j] = sum;
}
