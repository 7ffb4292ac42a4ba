// The bilateral filter: a blur that keeps edges.
//
// A result is the mean of a round window in which near pixels of similar colour count most. A work-item computes one
// pixel, all its channels, because they are weighted together. The arithmetic pipe is the limit on every GPU: SIZE x
// SIZE weights for each pixel.
//
// Integer pixels have integer weights, so that the result is the same to the bit everywhere. Both factors of a weight
// come from tables, which costs a load where float costs an exponential.
//
// FILTERED: channels that are filtered; the others are copied.
// FLOAT:    1 for half and float.
// SIZE:     extent of the window. COLORS: entries of the table of colours.
// BASE:     added to integers to make them positive.

#ifndef BASE
#define BASE 0
#endif
#ifndef FLOAT
#define FLOAT 1
#endif
#ifndef FILTERED
#define FILTERED TO_CHANNELS
#endif
#ifndef SIZE
#define SIZE 5
#define COLORS 256
#endif

#define CHANNELS TO_CHANNELS
#define FROM_AT(x, y, channel) (source + (from_pitch * (y) + (x) * FROM_STEP + FROM_NEXT(from_plane) * (channel)))
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x * TO_STEP + TO_NEXT(to_plane) * (channel)))
#if FLOAT
typedef float Work;
typedef float Table;
#else
typedef int Work;
typedef ushort Table;
#endif

// `space` has the weight of each position in the window, row by row, 0 outside the circle; `colors` the weight of each
// difference of colour (integers), or only -1 / (2 sigma^2) (float).
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
        centre[channel] = GET(FROM_AT(x, y, channel));
    int filtered = FILTERED;
#if BORDER == NONE
    if (x < radius || y < radius || x >= width - radius || y >= height - radius)
        filtered = 0;
#endif
    for (int channel = filtered; channel < CHANNELS; ++channel)
        PUT(centre[channel], TO_AT(channel));
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
                seen[channel] = from_x < 0 || from_y < 0 ? (Work)OUTSIDE : GET(FROM_AT(from_x, from_y, channel));
#else
                seen[channel] = GET(FROM_AT(from_x, from_y, channel));
#endif
#if FLOAT
                difference += fabs(seen[channel] - centre[channel]);
#else
                difference += max(seen[channel], centre[channel]) - min(seen[channel], centre[channel]);
#endif
            }
#if FLOAT
            const float weight = near * exp(difference * difference * colors[0]);
            // False for NaN: pixels that are not finite do not count.
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
        PUT(sum[channel] / weights, TO_AT(channel));
#else
        PUT((int)((sum[channel] + weights / 2) / weights) - BASE, TO_AT(channel));
#endif
    }
}
