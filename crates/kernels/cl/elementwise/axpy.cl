// y += alpha x over vectors whose elements may be a stride apart.
//
// Two loads and a store for one multiply-add: memory is the limit everywhere. Neighbours in dimension 0 access
// neighbouring elements, and there is no more to gain.

kernel void axpy(global const ELEMENT *x, global ELEMENT *y, const uint x_offset, const uint x_stride,
                 const uint y_offset, const uint y_stride, const uint count, const float alpha)
{
    const uint i = get_global_id(0);
    if (i >= count)
        return;
    x += x_offset + i * x_stride;
    y += y_offset + i * y_stride;
    PUT(mad(alpha, GET(x), GET(y)), y);
}
