// z = a * x + y over float, WIDTH elements a work-item.
//
// Lesson: how much should one work-item load? One multiply-add for 12 bytes moved: this kernel measures
// nothing but memory. The load/store unit of a Mali moves 16 bytes an instruction, so narrower
// vectors pay the same instruction for less. Wider ones are cut into pieces of 16 bytes: neighbouring work-items
// then no longer touch neighbouring bytes within one piece, each piece visits as many cache lines as there
// are work-items, and float16 can come out slower than float4. On a desktop GPU width 1 already lets
// a warp move 128 bytes with one instruction.
//
// The last work-item takes what is left when WIDTH does not divide the length, so nothing is read or written
// past the end. Its test costs one comparison a work-item.
//
// WIDTH: 1, 2, 4, 8 or 16.

#ifndef WIDTH
#define WIDTH 4
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

kernel void saxpy(const float a, global const float *x, global const float *y, global float *z, const uint length)
{
    const uint i = get_global_id(0);
#if WIDTH == 1
    if (i < length)
        z[i] = a * x[i] + y[i];
#else
    if (WIDTH * i + WIDTH <= length) {
        JOIN(vstore, WIDTH)(a * JOIN(vload, WIDTH)(i, x) + JOIN(vload, WIDTH)(i, y), i, z);
    } else {
        for (uint j = WIDTH * i; j < length; ++j)
            z[j] = a * x[j] + y[j];
    }
#endif
}
