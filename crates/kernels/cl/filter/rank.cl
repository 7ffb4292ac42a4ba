// The pixel at a place in the order of a window: medians of large windows, percentiles.
//
// A work-item computes one pixel. It finds the result bit by bit, from the highest: a bit is 1 when too few pixels of
// the window are below what is found so far with that bit. So the window is read once for each bit, and needs no
// registers, where sorting networks for windows of over 5 x 5 need more than there are.
//
// FILTERED: channels that are filtered; the others are copied.
// FLOAT:    1 for half and float, which are compared as the integers that have the same order.
// BITS:     of these integers. BASE: added to integers to make them positive.
// SIZE:     extent of the window. RANK: the place, 0 for the smallest pixel.

#ifndef BASE
#define BASE 0
#endif
#ifndef FLOAT
#define FLOAT 1
#endif
#ifndef BITS
#define BITS 32
#endif
#ifndef FILTERED
#define FILTERED TO_CHANNELS
#endif
#ifndef SIZE
#define SIZE 7
#define RANK 24
#endif

#define CHANNELS TO_CHANNELS
#define FROM_AT(x, y, channel) (source + (from_pitch * (y) + (x) * FROM_STEP + FROM_NEXT(from_plane) * (channel)))
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x * TO_STEP + TO_NEXT(to_plane) * (channel)))
#if FLOAT
typedef float Work;
#define IS_NAN(value) ((value) != (value))
// Those below 0 in reverse, before all others.
static uint key(const float value)
{
    const uint bits = as_uint(value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
static float value_of(const uint key)
{
    return as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}
#else
typedef int Work;
#define IS_NAN(value) false
static uint key(const int value)
{
    return value + BASE;
}
static int value_of(const uint key)
{
    return (int)key - BASE;
}
#endif

kernel void filter_rank(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                        const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                        const uint to_plane, const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1), radius = SIZE / 2;
    if (x >= width || y >= height)
        return;
    source += from_offset;
    int filtered = FILTERED;
#if BORDER == NONE
    if (x < radius || y < radius || x >= width - radius || y >= height - radius)
        filtered = 0;
#endif
    for (int channel = 0; channel < CHANNELS; ++channel) {
        if (channel >= filtered) {
            const Work copied = GET(FROM_AT(x, y, channel));
            PUT(copied, TO_AT(channel));
            continue;
        }
        uint found = 0;
        int nans = 0;
        for (int bit = BITS - 1; bit >= 0; --bit) {
            const uint candidate = found | 1u << bit;
            int below = 0;
            for (int dy = 0; dy < SIZE; ++dy) {
                const int from_y = fold(y + dy - radius, height);
                for (int dx = 0; dx < SIZE; ++dx) {
                    const int from_x = fold(x + dx - radius, width);
#if BORDER == CONSTANT
                    const Work seen = from_x < 0 || from_y < 0 ? (Work)OUTSIDE : GET(FROM_AT(from_x, from_y, channel));
#else
                    const Work seen = GET(FROM_AT(from_x, from_y, channel));
#endif
                    nans += IS_NAN(seen);
                    below += key(seen) < candidate;
                }
            }
            found = below > RANK ? found : candidate;
        }
#if FLOAT
        const Work made = nans ? NAN : value_of(found);
#else
        const Work made = value_of(found);
#endif
        PUT(made, TO_AT(channel));
    }
}
