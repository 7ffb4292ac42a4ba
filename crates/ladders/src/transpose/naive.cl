// The transpose of a matrix of float, one element a work-item.
//
// Every element is read once and written once, so one of the two must jump: whoever walks along a row
// of the source walks down a column of the destination. Which side should jump?
//
// A read that misses makes its work-item wait, but a cache line that was fetched for one element may still be there
// when the neighbour's turn comes. A scattered write needs no answer, but each touches a line of its own, and
// a line that is written only in part must be merged or read first. The two kernels do the same
// number of loads and stores; measure which way your memory prefers.

// Global size width x height: neighbouring work-items read along a row of the source.
kernel void transpose_read_rows(global const float *source, global float *destination, const uint width,
                                const uint height)
{
    const uint x = get_global_id(0);
    const uint y = get_global_id(1);
    destination[x * height + y] = source[y * width + x];
}

// Global size height x width: neighbouring work-items write along a row of the destination.
kernel void transpose_write_rows(global const float *source, global float *destination, const uint width,
                                 const uint height)
{
    const uint y = get_global_id(0);
    const uint x = get_global_id(1);
    destination[x * height + y] = source[y * width + x];
}
