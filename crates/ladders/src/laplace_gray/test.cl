// Sharpening with a 3x3 Laplace filter on 8-bit gray: 9 x a pixel - its 8 neighbours, clamped to 0..255; the
// outermost ring of pixels is copied. The border strategy of this file: every work-item tests where it is.
//
// `source` and `result` are width * height bytes, are no alias of each other, and nothing outside is touched. The
// host rounds global sizes up; surplus work-items return at once.

// One pixel a work-item.
kernel void gray_test_scalar(global const uchar *source, global uchar *result, const uint width,
                             const uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint at = width * y + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        result[at] = source[at];
        return;
    }
    // C promotes a scalar uchar to int by itself, so nothing can wrap here.
    const uint above = at - width, below = at + width;
    int sum = 9 * source[at] - source[at - 1] - source[at + 1];
    sum -= source[above - 1] + source[above] + source[above + 1];
    sum -= source[below - 1] + source[below] + source[below + 1];
    result[at] = (uchar)clamp(sum, 0, 255);
}

// What a work-item of a vector kernel filters.
typedef struct {
    uint at;     // where its vector starts
    uint pixels; // how many pixels are its own, the last ones of the vector; 0: nothing is left to do
} Group;

// Finds the work-item's group of 16 pixels and copies what the group touches of the ring. Groups start at column
// 1, so that the loads to the left stay in the row. The last group of a row has 1 to 16 pixels; its vector is moved
// inwards to end where the ring begins. `width` is at least 18.
static Group find_group(global const uchar *source, global uchar *result, const uint width, const uint height)
{
    Group group = { 0, 0 };
    const uint x = 1 + 16 * (uint)get_global_id(0), y = get_global_id(1);
    if (x >= width - 1 || y >= height)
        return group;
    const uint row = width * y, ring = row + width - 1;
    const bool first = x == 1, last = x + 16 >= width - 1;
    if (y == 0 || y == height - 1) {
        const uint to = last ? ring + 1 : row + x + 16;
        for (uint i = first ? row : row + x; i < to; ++i)
            result[i] = source[i];
        return group;
    }
    if (first)
        result[row] = source[row];
    if (last)
        result[ring] = source[ring];
    group.pixels = last ? width - 1 - x : 16;
    group.at = last ? ring - 16 : row + x;
    return group;
}

// Sixteen pixels a work-item, three loads a row.
kernel void gray_test_vector(global const uchar *source, global uchar *result, const uint width,
                             const uint height)
{
    const Group group = find_group(source, result, width, height);
    if (group.pixels > 0)
        store_last(sharpen_loaded(source + group.at, width), group.pixels, result + group.at + 16);
}

// Sixteen pixels a work-item, two loads a row.
kernel void gray_test_synthesised(global const uchar *source, global uchar *result, const uint width,
                                  const uint height)
{
    const Group group = find_group(source, result, width, height);
    if (group.pixels > 0)
        store_last(sharpen_synthesised(source + group.at, width), group.pixels, result + group.at + 16);
}
