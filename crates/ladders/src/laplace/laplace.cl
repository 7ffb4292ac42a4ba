// Sharpening with a 3x3 Laplace filter on packed 24-bit RGB: 9 x a pixel - its 8 neighbours, clamped to
// 0..255, each channel for itself. The outermost ring of pixels is copied.
//
// `source` and `result` are exactly 3 * width * height bytes, are no alias of each other, and nothing outside
// them is touched. Channels do not mix and a neighbour is 3 bytes away, so the vector kernels forget about
// pixels: byte i of a row needs the bytes i - 3, i and i + 3 of three rows, wherever a vector starts.
//
// Dimension 0 runs along the row. Where threads run in warps (Bifrost, Valhall, Adreno and most others)
// neighbours in dimension 0 then load neighbouring bytes, and one cache line serves many of them. Midgard has no
// warps and does not mind; the published kernels walk down the image there.
//
// Global sizes are rounded up by the host and the surplus work-items return at once: when the driver is left to
// choose the work-group size, it can only choose divisors, and 2048 / 5 = 409 is prime.

// One pixel a work-item, with the border test inside: 27 loads of a byte each. A load of 1 byte occupies the
// load/store pipe for as long as one of 16 does.
kernel void laplace_scalar(global const uchar *source, global uchar *result, const uint width, const uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint pitch = 3 * width;
    const uint at = pitch * y + 3 * x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        for (uint i = at; i < at + 3; ++i)
            result[i] = source[i];
        return;
    }
    for (uint i = at; i < at + 3; ++i) {
        const uint above = i - pitch, below = i + pitch;
        int sum = 9 * source[i] - source[i - 3] - source[i + 3];
        sum -= source[above - 3] + source[above] + source[above + 3];
        sum -= source[below - 3] + source[below] + source[below + 3];
        result[i] = (uchar)clamp(sum, 0, 255);
    }
}

// What a work-item of a vector kernel filters.
typedef struct {
    uint at;     // where its vector starts, in bytes
    uint pixels; // how many pixels are its own; 0: nothing is left to do
    bool last;   // whether it is the last of its row
} Group;

// Finds the work-item's group of `pixels` pixels, whose vector is `window` bytes, and copies what the group
// touches of the ring. The groups of a row start at pixel 1, so that the loads to the left stay in the row.
//
// The last group has whatever is left of the row. Its vector is moved inwards to end where the ring begins: it
// computes some bytes that its neighbour computes too, but stores only its own, the last ones of the vector.
// (Storing them all would save a branch: the values are the same. It is a race all the same.) It takes as many
// pixels as its vector has room for, with four pixels to a group that is five: were one pixel left to a group
// of its own, the group before it would load a byte past the end of the row.
// `width` must leave room for all that: 3 * (width - 1) >= window + 3.
static Group find_group(global const uchar *source, global uchar *result, const uint width, const uint height,
                        const uint pixels, const uint window)
{
    Group group = { 0, 0, false };
    const uint x = 1 + pixels * (uint)get_global_id(0), y = get_global_id(1);
    const uint room = window / 3;
    if (x + room - pixels >= width - 1 || y >= height)
        return group;
    const uint row = 3 * width * y, row_end = row + 3 * width, ring = row_end - 3;
    const bool first = x == 1;
    group.last = x + room >= width - 1;
    if (y == 0 || y == height - 1) {
        const uint from = first ? row : row + 3 * x;
        const uint to = group.last ? row_end : row + 3 * (x + pixels);
        for (uint i = from; i < to; ++i)
            result[i] = source[i];
        return group;
    }
    if (first)
        for (uint i = row; i < row + 3; ++i)
            result[i] = source[i];
    if (group.last)
        for (uint i = ring; i < row_end; ++i)
            result[i] = source[i];
    group.pixels = group.last ? width - 1 - x : pixels;
    group.at = group.last ? ring - window : row + 3 * x;
    return group;
}

// Five pixels are 15 of a vector's 16 bytes. The sixteenth belongs to the next group, and there is no store of
// 15 bytes: 8 + 4 + 2 + 1.
static void store_five(const Group group, const uchar16 vector, global uchar *result)
{
    global uchar *to = result + group.at;
    if (group.last) {
        store_last(vector, 3 * group.pixels, to + 16);
        return;
    }
    vstore8(vector.lo, 0, to);
    vstore4(vector.s89ab, 0, to + 8);
    vstore2(vector.scd, 0, to + 12);
    to[14] = vector.se;
}

// Five pixels a work-item: 9 loads of 16 bytes do what took 135. Bytes must be widened before they are summed,
// and int is the obvious type: every vector is then 64 bytes, four registers. (clamp takes scalar bounds as well;
// vectors because Oclgrind 21.10 reads past scalar ones.)
kernel void laplace_vectorise(global const uchar *source, global uchar *result, const uint width,
                              const uint height)
{
    const Group group = find_group(source, result, width, height, 5, 16);
    if (group.pixels == 0)
        return;
    global const uchar *here = source + group.at, *above = here - 3 * width, *below = here + 3 * width;
    int16 sum = 9 * convert_int16(vload16(0, here));
    sum -= convert_int16(vload16(0, here - 3));
    sum -= convert_int16(vload16(0, here + 3));
    sum -= convert_int16(vload16(0, above - 3));
    sum -= convert_int16(vload16(0, above));
    sum -= convert_int16(vload16(0, above + 3));
    sum -= convert_int16(vload16(0, below - 3));
    sum -= convert_int16(vload16(0, below));
    sum -= convert_int16(vload16(0, below + 3));
    store_five(group, convert_uchar16(clamp(sum, (int16)0, (int16)255)), result);
}

// The vector between one that starts 3 bytes before it and one that starts 3 bytes after it: 13 of its bytes
// lie in the left one, the other 3 in the right one.
static uchar16 between(const uchar16 left, const uchar16 right)
{
    return (uchar16)(left.s3456789a, left.sbcde, left.sf, right.sabc);
}

// The three vectors of a row overlap. Two of them hold all its bytes: the middle one is put together in
// registers, which takes a load off the load/store pipe and gives the arithmetic pipe a shuffle.
kernel void laplace_synthesise_loads(global const uchar *source, global uchar *result, const uint width,
                                     const uint height)
{
    const Group group = find_group(source, result, width, height, 5, 16);
    if (group.pixels == 0)
        return;
    global const uchar *here = source + group.at, *above = here - 3 * width, *below = here + 3 * width;
    uchar16 left = vload16(0, here - 3), right = vload16(0, here + 3);
    int16 sum = 9 * convert_int16(between(left, right)) - convert_int16(left) - convert_int16(right);
    left = vload16(0, above - 3), right = vload16(0, above + 3);
    sum -= convert_int16(left) + convert_int16(between(left, right)) + convert_int16(right);
    left = vload16(0, below - 3), right = vload16(0, below + 3);
    sum -= convert_int16(left) + convert_int16(between(left, right)) + convert_int16(right);
    store_five(group, convert_uchar16(clamp(sum, (int16)0, (int16)255)), result);
}

// The rows' sum in short: from -8 * 255 = -2040 to 9 * 255 = 2295 it has room to spare. Half the registers and,
// where a vector unit is 128 bits wide, half the instructions of int.
static uchar16 sharpen(global const uchar *here, const uint pitch)
{
    global const uchar *above = here - pitch, *below = here + pitch;
    uchar16 left = vload16(0, here - 3), right = vload16(0, here + 3);
    short16 sum = (short)9 * convert_short16(between(left, right)) - convert_short16(left) - convert_short16(right);
    left = vload16(0, above - 3), right = vload16(0, above + 3);
    sum -= convert_short16(left) + convert_short16(between(left, right)) + convert_short16(right);
    left = vload16(0, below - 3), right = vload16(0, below + 3);
    sum -= convert_short16(left) + convert_short16(between(left, right)) + convert_short16(right);
    return convert_uchar16(clamp(sum, (short16)0, (short16)255));
}

// short in place of int, nothing else.
kernel void laplace_short_arithmetic(global const uchar *source, global uchar *result, const uint width,
                                     const uint height)
{
    const Group group = find_group(source, result, width, height, 5, 16);
    if (group.pixels > 0)
        store_five(group, sharpen(source + group.at, 3 * width), result);
}

// Four pixels of the same vector: a quarter of the lanes works for nothing, but 12 bytes are stored as 8 + 4, and
// usual widths divide by 4.
kernel void laplace_four_pixels(global const uchar *source, global uchar *result, const uint width,
                                const uint height)
{
    const Group group = find_group(source, result, width, height, 4, 16);
    if (group.pixels == 0)
        return;
    const uchar16 vector = sharpen(source + group.at, 3 * width);
    global uchar *to = result + group.at;
    if (group.last) {
        store_last(vector, 3 * group.pixels, to + 16);
        return;
    }
    vstore8(vector.lo, 0, to);
    vstore4(vector.s89ab, 0, to + 8);
}

// Takes 24 bytes of a row and their neighbours left and right off the sum, 16 lanes in `sum` and 8 in `more`; the
// bytes themselves count `centre` times. Two loads hold the 30 bytes it takes, `a` those from -3 to 12 and `b`
// those from 11 to 26: two bytes are in both, none lies outside.
static void subtract_row(global const uchar *row, const short centre, short16 *sum, short8 *more)
{
    const uchar16 a = vload16(0, row - 3), b = vload16(0, row + 11);
    *sum -= convert_short16(a) + convert_short16((uchar16)(a.s6789abcd, a.sef, b.s2345, b.s67));
    *sum -= centre * convert_short16((uchar16)(a.s3456789a, a.sbcde, a.sf, b.s234));
    *more -= convert_short8(b.s23456789) + convert_short8(b.s89abcdef);
    *more -= centre * convert_short8(b.s56789abc);
}

// Eight pixels are 24 bytes: one and a half vectors, all of whose lanes work, stored as 16 + 8.
kernel void laplace_eight_pixels(global const uchar *source, global uchar *result, const uint width,
                                 const uint height)
{
    const Group group = find_group(source, result, width, height, 8, 24);
    if (group.pixels == 0)
        return;
    global const uchar *here = source + group.at, *above = here - 3 * width, *below = here + 3 * width;
    short16 sum = 0;
    short8 more = 0;
    subtract_row(here, -9, &sum, &more);
    subtract_row(above, 1, &sum, &more);
    subtract_row(below, 1, &sum, &more);
    const uchar16 vector = convert_uchar16(clamp(sum, (short16)0, (short16)255));
    const uchar8 rest = convert_uchar8(clamp(more, (short8)0, (short8)255));
    global uchar *to = result + group.at;
    if (group.last) {
        const uint bytes = 3 * group.pixels;
        store_last((uchar16)(vector.hi, rest), min(bytes, 16u), to + 24);
        store_last((uchar16)(vector.lo, vector.lo), max(bytes, 16u) - 16, to + 8);
        return;
    }
    vstore16(vector, 0, to);
    vstore8(rest, 0, to + 16);
}
