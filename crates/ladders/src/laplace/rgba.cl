// The same 3x3 Laplace filter on RGBA, 8 bits a channel: red, green and blue are sharpened, alpha is kept, the
// outermost ring of pixels is copied.
//
// Four bytes a pixel make this friendlier than packed RGB: pixels are aligned, so buffers are read as uint, a
// load of four pixels is one of four words for every compiler, and a vector of 16 bytes holds four pixels with
// nothing left over. `source` and `result` are width * height pixels and no alias of each other.

// One pixel a work-item: for images too narrow for the other one.
kernel void laplace_rgba_scalar(global const uint *source, global uint *result, const uint width,
                                const uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint at = width * y + x;
    const uchar4 pixel = as_uchar4(source[at]);
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        result[at] = source[at];
        return;
    }
    short4 sum = 0;
    for (uint row = at - width; row <= at + width; row += width)
        for (uint i = row - 1; i <= row + 1; ++i)
            sum -= convert_short4(as_uchar4(source[i]));
    sum += (short)10 * convert_short4(pixel);
    result[at] = as_uint((uchar4)(convert_uchar4_sat(sum).xyz, pixel.w));
}

// Four pixels a work-item.
//
// The 3x3 sum, centre included, is separable: columns first, then three neighbouring columns. Six pixels of
// column sums replace the nine widened vectors and eight subtractions of the plain way by four and a half and
// five; ten times the centre less that sum is nine times the centre less its neighbours.
//
// Border: groups start at pixel 1; the last group of a row is moved inwards to end where the ring begins, and
// stores only the pixels its neighbour does not. The ring is copied on the way. `width` is at least 6.
kernel void laplace_rgba_four_pixels(global const uint *source, global uint *result, const uint width,
                                     const uint height)
{
    const uint x = 1 + 4 * (uint)get_global_id(0), y = get_global_id(1);
    if (x >= width - 1 || y >= height)
        return;
    const uint row = width * y, ring = row + width - 1;
    const bool first = x == 1, last = x + 4 >= width - 1;
    if (y == 0 || y == height - 1) {
        const uint to = last ? ring + 1 : row + x + 4;
        for (uint i = first ? row : row + x; i < to; ++i)
            result[i] = source[i];
        return;
    }
    if (first)
        result[row] = source[row];
    if (last)
        result[ring] = source[ring];

    const uint at = last ? ring - 4 : row + x;
    const uint above = at - width, below = at + width;
    const uchar16 here_left = as_uchar16(vload4(0, source + at - 1));
    const uchar8 here_right = as_uchar8(vload2(0, source + at + 3));
    const short16 columns = convert_short16(as_uchar16(vload4(0, source + above - 1))) +
                            convert_short16(here_left) + convert_short16(as_uchar16(vload4(0, source + below - 1)));
    const short8 more = convert_short8(as_uchar8(vload2(0, source + above + 3))) + convert_short8(here_right) +
                        convert_short8(as_uchar8(vload2(0, source + below + 3)));
    const uchar16 centre = (uchar16)(here_left.s456789ab, here_left.scdef, here_right.s0123);
    const short16 sum = (short)10 * convert_short16(centre) - columns -
                        (short16)(columns.s456789ab, columns.scdef, more.s0123) - (short16)(columns.hi, more);
    uchar16 sharp = convert_uchar16_sat(sum);
    sharp.s37bf = centre.s37bf;

    const uint4 pixels = as_uint4(sharp);
    if (!last) {
        vstore4(pixels, 0, result + at);
        return;
    }
    const uint own = width - 1 - x;
    if (own > 3)
        result[at] = pixels.x;
    if (own > 2)
        result[at + 1] = pixels.y;
    if (own > 1)
        result[at + 2] = pixels.z;
    result[at + 3] = pixels.w;
}
