// y += alpha x over vectors whose elements may lie apart. Two loads and a store for one multiply-add: memory bounds it
// everywhere, and neighbours in dimension 0 touch neighbouring elements, which is all there is to do about that.

// half is loaded into float and stored from it.
#ifndef ELEMENT
#define ELEMENT float
#define HALF 0
#endif
#if HALF
#define LOAD(at) vload_half(0, at)
#define STORE(value, at) vstore_half_rte(value, 0, at)
#else
#define LOAD(at) *(at)
#define STORE(value, at) *(at) = value
#endif

kernel void axpy(global const ELEMENT *x, global ELEMENT *y, const uint x_offset, const uint x_stride,
                 const uint y_offset, const uint y_stride, const uint count, const float alpha)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;
    x += x_offset + i * x_stride;
    y += y_offset + i * y_stride;
    STORE(mad(alpha, LOAD(x), LOAD(y)), y);
}
