// An image of other extents. Nearest, bilinear and area differ in nothing but weights: a column of the result is a weighted sum of TAPS columns from
// `first_x` on, and so are rows. The host works the weights out once a column and once a row, where every work-item would
// do it again; neighbours load neighbouring entries.
//
// One pixel a work-item, all its channels. Memory bounds it when an image shrinks; the texture unit could
// do the bilinear sum, but not to the bit.

// Element type; half is loaded into float. SUM has room for every sum: int for 8 bits, long for 16, float.
#ifndef ELEMENT
#define ELEMENT uchar
#define HALF 0
#define FLOAT 0
#define SUM int
#define WEIGHT ushort
#endif
#ifndef CHANNELS
#define CHANNELS 3
#define FROM_PLANAR 0
#define TO_PLANAR 0
#endif
#ifndef TAPS_X
#define TAPS_X 2
#define TAPS_Y 2
#endif
// A weight of 1 is 2^BITS.
#define BITS 11

#if FROM_PLANAR
#define FROM_AT(x, y, channel) (source + (from_offset + from_pitch * (y) + (x) + from_plane * (channel)))
#else
#define FROM_AT(x, y, channel) (source + (from_offset + from_pitch * (y) + (x) * CHANNELS + (channel)))
#endif
#if TO_PLANAR
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x + to_plane * (channel)))
#else
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x * CHANNELS + (channel)))
#endif
#if HALF
#define LOAD(at) vload_half(0, at)
#define STORE(value, at) vstore_half_rte(value, 0, at)
#elif FLOAT
#define LOAD(at) *(at)
#define STORE(value, at) *(at) = value
#else
#define LOAD(at) (SUM)*(at)
// Half is added, so that the shift rounds to the nearest.
#define STORE(value, at) *(at) = (ELEMENT)((value + ((SUM)1 << (2 * BITS - 1))) >> (2 * BITS))
#endif

kernel void filter_resize(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                          const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                          const uint to_plane, const int width, const int height, global const int *first_x,
                          global const WEIGHT *weights_x, global const int *first_y, global const WEIGHT *weights_y)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    for (int channel = 0; channel < CHANNELS; ++channel) {
        SUM sum = 0;
        for (int j = 0; j < TAPS_Y; ++j) {
            SUM across = 0;
            for (int i = 0; i < TAPS_X; ++i)
                across += weights_x[x * TAPS_X + i] * LOAD(FROM_AT(first_x[x] + i, first_y[y] + j, channel));
            sum += weights_y[y * TAPS_Y + j] * across;
        }
        STORE(sum, TO_AT(channel));
    }
}
