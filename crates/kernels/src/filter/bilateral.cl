// A blur that keeps edges: the mean of a round window in which near pixels of like colour count most. One pixel a work-item, all its
// channels, as they weigh together. The arithmetic pipe bounds it on every GPU: SIZE x SIZE weights a pixel.
//
// Integer pixels: weights are integers, so that the result is the same to the bit everywhere. Both factors of a weight come
// from tables, which costs a load where float costs an exponential.

// Element type of source and result; half is loaded into float. BASE makes integers positive.
#ifndef ELEMENT
#define ELEMENT uchar
#define HALF 0
#define FLOAT 0
#define BASE 0
#endif
// Channels of a pixel, and those of them that are filtered; the others are copied.
#ifndef CHANNELS
#define CHANNELS 3
#define FILTERED 3
#define FROM_PLANAR 0
#define TO_PLANAR 0
#endif
// Extent of the window; entries of the table of colours.
#ifndef SIZE
#define SIZE 5
#define COLORS 256
#endif

// What lies outside the image.
#define NONE 0 // nothing: where a window leaves the image, the pixel is copied
#define CONSTANT 1
#define REPLICATE 2
#define REFLECT 3
#define REFLECT_101 4
#define WRAP 5
#ifndef BORDER
#define BORDER REFLECT_101
#define OUTSIDE 0
#endif

#if FROM_PLANAR
#define FROM_AT(x, y, channel) (source + (from_pitch * (y) + (x) + from_plane * (channel)))
#else
#define FROM_AT(x, y, channel) (source + (from_pitch * (y) + (x) * CHANNELS + (channel)))
#endif
#if TO_PLANAR
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x + to_plane * (channel)))
#else
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x * CHANNELS + (channel)))
#endif
#if FLOAT
typedef float Work;
typedef float Table;
#else
typedef int Work;
typedef ushort Table;
#endif
#if HALF
#define LOAD(at) vload_half(0, at)
#define STORE(value, at) vstore_half_rte(value, 0, at)
#else
#define LOAD(at) (Work)*(at)
#define STORE(value, at) *(at) = (ELEMENT)(value)
#endif

// The place in 0 .. extent - 1 that stands for `place`, which is outside; -1 where only a constant does.
static int fold_outside(int place, const int extent)
{
#if BORDER == CONSTANT
    return -1;
#elif BORDER == REFLECT
    place %= 2 * extent;
    place = place < 0 ? place + 2 * extent : place;
    return min(place, 2 * extent - 1 - place);
#elif BORDER == REFLECT_101
    const int period = max(2 * extent - 2, 1);
    place %= period;
    place = place < 0 ? place + period : place;
    return min(place, period - place);
#elif BORDER == WRAP
    place %= extent;
    return place < 0 ? place + extent : place;
#else
    return clamp(place, 0, extent - 1);
#endif
}

static int fold(const int place, const int extent)
{
    return (uint)place < (uint)extent ? place : fold_outside(place, extent);
}

// `space` has the weight of each place of the window, row by row, 0 outside the circle; `colors` that of each difference of colour
// (integers), or only -1 / (2 sigma^2) (float).
kernel void filter_bilateral(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                             const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                             const uint to_plane, const int width, const int height, global const Table *space,
                             global const Table *colors)
{
    const int x = get_global_id(0), y = get_global_id(1), radius = SIZE / 2;
    if (x >= width || y >= height)
        return;
    source += from_offset;
    Work centre[CHANNELS];
    for (int channel = 0; channel < CHANNELS; ++channel)
        centre[channel] = LOAD(FROM_AT(x, y, channel));
    int filtered = FILTERED;
#if BORDER == NONE
    if (x < radius || y < radius || x >= width - radius || y >= height - radius)
        filtered = 0;
#endif
    for (int channel = filtered; channel < CHANNELS; ++channel)
        STORE(centre[channel], TO_AT(channel));
    if (filtered == 0)
        return;
#if FLOAT
    float sum[FILTERED], weights = 0;
#else
    uint sum[FILTERED], weights = 0;
#endif
    for (int channel = 0; channel < FILTERED; ++channel)
        sum[channel] = 0;
    for (int dy = 0; dy < SIZE; ++dy) {
        const int from_y = fold(y + dy - radius, height);
        for (int dx = 0; dx < SIZE; ++dx) {
            const Table near = space[dy * SIZE + dx];
            if (near == 0)
                continue;
            const int from_x = fold(x + dx - radius, width);
            Work seen[FILTERED], difference = 0;
            for (int channel = 0; channel < FILTERED; ++channel) {
#if BORDER == CONSTANT
                seen[channel] = from_x < 0 || from_y < 0 ? (Work)OUTSIDE : LOAD(FROM_AT(from_x, from_y, channel));
#else
                seen[channel] = LOAD(FROM_AT(from_x, from_y, channel));
#endif
#if FLOAT
                difference += fabs(seen[channel] - centre[channel]);
#else
                difference += max(seen[channel], centre[channel]) - min(seen[channel], centre[channel]);
#endif
            }
#if FLOAT
            const float weight = near * exp(difference * difference * colors[0]);
            // Nor NaN: pixels that are not finite do not count.
            if (!(weight > 0))
                continue;
#else
            const uint like = difference < COLORS ? colors[difference] : 0;
            const uint weight = (near * like + 128) >> 8;
#endif
            weights += weight;
            for (int channel = 0; channel < FILTERED; ++channel)
                sum[channel] += weight * (seen[channel] + BASE);
        }
    }
    for (int channel = 0; channel < FILTERED; ++channel) {
#if FLOAT
        STORE(sum[channel] / weights, TO_AT(channel));
#else
        STORE((int)((sum[channel] + weights / 2) / weights) - BASE, TO_AT(channel));
#endif
    }
}
