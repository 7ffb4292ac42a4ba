// c = a + b over int, wrapping.
//
// Lesson: a work-item that moves 4 bytes spends most of its time on being a work-item. With int4 each
// load and store is 16 bytes, the width of one load/store word on every Mali, and there are a quarter of
// the work-items. On Midgard the addition is one vector operation as well.

// One element a work-item.
kernel void vector_add_scalar(global const int *a, global const int *b, global int *c)
{
    const size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

// Four elements a work-item. The last work-item takes what is left when 4 does not divide the length,
// so nothing is read or written past the end.
kernel void vector_add_int4(global const int *a, global const int *b, global int *c, const uint length)
{
    const size_t i = get_global_id(0);
    if (4 * i + 4 <= length) {
        vstore4(vload4(i, a) + vload4(i, b), i, c);
    } else {
        for (size_t j = 4 * i; j < length; ++j)
            c[j] = a[j] + b[j];
    }
}
