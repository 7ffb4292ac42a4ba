// z = a x + y in parts: y + (a / n) x + ... + (a / n) x, four floats a work-item, a kernel for each n.
//
// Lesson: the pipes work at the same time. Two loads and a store of 16 bytes keep the load/store pipe, and the memory
// behind it, busy for a while; a multiply-add more is free until the arithmetic pipe is busy as long. From there, twice
// the arithmetic is twice the time. The n at which the time has grown by a tenth is the ratio of arithmetic to loads
// and stores (A:LS) that a kernel needs to use all of the GPU.
//
// `mad` instead of a product and a sum: (a / n) x is the same in all terms, and a compiler would compute it once.

static void ratio(
    const int n, const float a, global const float *x, global const float *y, global float *z, const uint length)
{
    const uint i = get_global_id(0);
    if (4 * i + 4 <= length) {
        const float4 part = a / n, v = vload4(i, x);
        float4 sum = vload4(i, y);
#pragma unroll
        for (int term = 0; term < n; ++term)
            sum = mad(part, v, sum);
        vstore4(sum, i, z);
    } else {
        for (uint j = 4 * i; j < length; ++j) {
            float sum = y[j];
            for (int term = 0; term < n; ++term)
                sum = mad(a / n, x[j], sum);
            z[j] = sum;
        }
    }
}

#define TERMS(n)                                                                                                   \
    kernel void terms_##n(                                                                                         \
        const float a, global const float *x, global const float *y, global float *z, const uint length)           \
    {                                                                                                              \
        ratio(n, a, x, y, z, length);                                                                              \
    }

TERMS(1)
TERMS(2)
TERMS(4)
TERMS(8)
TERMS(16)
TERMS(32)
TERMS(64)
TERMS(128)
TERMS(256)
