// Sharpening with a 3x3 Laplace filter on 8-bit gray: 9 x a pixel - its 8 neighbours, clamped to 0..255; the
// outermost ring of pixels is copied. The border strategy of this file: one kernel filters the interior and tests
// nothing at all, and a kernel of its own does what is left along the border.
//
// `source` and `result` are width * height bytes, are no alias of each other, and nothing outside is touched.
//
// The price: a second launch; and the interior's global size is the interior's exactly, whatever its factors,
// because rounding it up would bring the test back.

// One pixel of the interior a work-item; (width - 2) x (height - 2) of them.
kernel void gray_interior_scalar(global const uchar *source, global uchar *result, const uint width)
{
    const uint at = width * (1 + (uint)get_global_id(1)) + 1 + (uint)get_global_id(0);
    const uint above = at - width, below = at + width;
    int sum = 9 * source[at] - source[at - 1] - source[at + 1];
    sum -= source[above - 1] + source[above] + source[above + 1];
    sum -= source[below - 1] + source[below] + source[below + 1];
    result[at] = (uchar)clamp(sum, 0, 255);
}

// Sixteen pixels of the interior a work-item, three loads a row; (width - 2) / 16, rounded down, x (height - 2).
kernel void gray_interior_vector(global const uchar *source, global uchar *result, const uint width)
{
    const uint at = width * (1 + (uint)get_global_id(1)) + 1 + 16 * (uint)get_global_id(0);
    vstore16(sharpen_loaded(source + at, width), 0, result + at);
}

// The same with two loads a row.
kernel void gray_interior_synthesised(global const uchar *source, global uchar *result, const uint width)
{
    const uint at = width * (1 + (uint)get_global_id(1)) + 1 + 16 * (uint)get_global_id(0);
    vstore16(sharpen_synthesised(source + at, width), 0, result + at);
}

// The border, one row of work-items: `width` of them for the first row of the image, as many for the last, then
// one for each row between, which copies its two ends and filters the `rest` pixels (0 to 15) that are too few
// for a vector of the interior's kernel. It takes a whole vector that ends where the ring begins, and stores the
// last pixels of it. With a rest, `width` is at least 18.
kernel void gray_border(global const uchar *source, global uchar *result, const uint width, const uint height,
                        const uint rest)
{
    const uint i = get_global_id(0);
    if (i < width) {
        result[i] = source[i];
        // An image of one row has its first row for its last one.
    } else if (i < 2 * width && height > 1) {
        const uint at = width * (height - 1) + i - width;
        result[at] = source[at];
    } else if (i >= 2 * width && i - 2 * width + 2 < height) {
        const uint row = width * (i - 2 * width + 1), ring = row + width - 1;
        result[row] = source[row];
        result[ring] = source[ring];
        if (rest > 0)
            store_last(sharpen_synthesised(source + ring - 16, width), rest, result + ring);
    }
}
