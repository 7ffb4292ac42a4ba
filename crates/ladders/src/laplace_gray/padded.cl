// Sharpening with a 3x3 Laplace filter on 8-bit gray: 9 x a pixel - its 8 neighbours, clamped to 0..255; the
// outermost ring of pixels is copied. The border strategy of this file: buffers with room around the image, so
// that every load and every whole vector's store is harmless wherever a work-item stands.
//
// `padded` holds the source: `pitch` bytes a row, a multiple of 16 and at least 16 more than the width; a row above the
// image and a row below it; 16 bytes ahead of the first. The room right of a row is the room left of the next.
//
//     16 bytes | room, a row | pixels, room | ... | pixels, room | room, a row
//
// `result` has height rows of pitch - 16 bytes; what is right of the image is written and means nothing.
//
// The price: someone must put the image there. And a ring that is copied, unlike one computed from some colour
// outside, is another formula at the edge: what was a branch becomes a select, with no branch left.

// Puts the image into `padded`, 16 bytes a work-item: pitch / 16 in a row, height + 2 rows. Room is 0.
kernel void gray_pad(global const uchar *source, global uchar *padded, const uint width, const uint height,
                     const uint pitch)
{
    const uint x = 16 * (uint)get_global_id(0), row = get_global_id(1);
    const bool inside = row >= 1 && row <= height;
    // Row 0 of the padded image is above the source.
    const uint from = inside ? width * (row - 1) + x : 0;
    uchar16 pixels = 0;
    if (inside && x + 16 <= width) {
        pixels = vload16(0, source + from);
    } else if (inside && x < width) {
        // The right end: bytes come in at the top, so that after 16 turns each is in its lane.
        for (uint i = 0; i < 16; ++i)
            pixels = (uchar16)(pixels.s12345678, pixels.s9abc, pixels.sde, pixels.sf,
                               x + i < width ? source[from + i] : (uchar)0);
    }
    vstore16(pixels, 0, padded + 16 + pitch * row + x);
    if (x == 0 && row == 0)
        vstore16((uchar16)0, 0, padded);
}

// One pixel a work-item, pitch - 16 in a row.
kernel void gray_padded_scalar(global const uchar *padded, global uchar *result, const uint width,
                               const uint height, const uint pitch)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    const uint at = 16 + pitch * (y + 1) + x, above = at - pitch, below = at + pitch;
    const int centre = padded[at];
    int sum = 9 * centre - padded[at - 1] - padded[at + 1];
    sum -= padded[above - 1] + padded[above] + padded[above + 1];
    sum -= padded[below - 1] + padded[below] + padded[below + 1];
    const bool ring = x == 0 | y == 0 | x == width - 1 | y == height - 1;
    result[(pitch - 16) * y + x] = (uchar)(ring ? centre : clamp(sum, 0, 255));
}

// `centre` where the 16 pixels from column x on are on the ring, `sharp` elsewhere.
static uchar16 ring_copied(const uchar16 sharp, const uchar16 centre, const uint x, const uint y,
                           const uint width, const uint height)
{
    const char16 lane = (char16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const char left = x == 0 ? 0 : 16;
    const char right = (char)min(width - 1 - x, 16u);
    const char whole_row = (y == 0 | y == height - 1) ? -1 : 0;
    return select(sharp, centre, as_uchar16((lane == left) | (lane == right) | whole_row));
}

// Sixteen pixels a work-item, three loads a row; pitch / 16 - 1 work-items in a row.
kernel void gray_padded_vector(global const uchar *padded, global uchar *result, const uint width,
                               const uint height, const uint pitch)
{
    const uint x = 16 * (uint)get_global_id(0), y = get_global_id(1);
    global const uchar *here = padded + 16 + pitch * (y + 1) + x;
    const uchar16 pixels = ring_copied(sharpen_loaded(here, pitch), vload16(0, here), x, y, width, height);
    vstore16(pixels, 0, result + (pitch - 16) * y + x);
}

// The same with two loads a row.
kernel void gray_padded_synthesised(global const uchar *padded, global uchar *result, const uint width,
                                    const uint height, const uint pitch)
{
    const uint x = 16 * (uint)get_global_id(0), y = get_global_id(1);
    global const uchar *here = padded + 16 + pitch * (y + 1) + x;
    const uchar16 centre = between(vload16(0, here - 1), vload16(0, here + 1));
    const uchar16 pixels = ring_copied(sharpen_synthesised(here, pitch), centre, x, y, width, height);
    vstore16(pixels, 0, result + (pitch - 16) * y + x);
}
