// An image of other extents.
//
// Interpolations differ only in weights: a column of the result is a weighted sum of TAPS_X columns from
// `first_x` on, and so are rows. The host computes the weights once for each column and once for each row, where each
// work-item would compute them again; neighbours load neighbouring entries.
//
// A work-item computes one pixel, all its channels: side by side, they are loaded and stored as one vector. Memory is
// the limit when an image shrinks. The texture unit could do the bilinear sum, but not to the bit.
//
// SUM:  holds every sum: int for 8 bits, long for more, float. WEIGHT: the type of a weight. A weight of 1 is 2^BITS.
// SIGNED: 1 when weights may be below 0, so that sums may exceed what the result's type has.
// TAPS_X, TAPS_Y: weights of each sum if they are 1 or 2; 0 if the arguments give their number: one program for all
//                 sizes.

#ifndef FLOAT
#define FLOAT 1
#define SUM float
#define WEIGHT float
#define BITS 0
#endif
#ifndef SIGNED
#define SIGNED 0
#endif
#ifndef TAPS_X
#define TAPS_X 2
#define TAPS_Y 2
#endif

// Channels that are loaded and stored at once, and a vector of them.
#define CHANNELS TO_CHANNELS
#if FROM_PLANAR || TO_PLANAR || CHANNELS == 1
#define AT_ONCE 1
#define WIDTH
#define VLOAD(at) *(at)
#define VSTORE(value, at) *(at) = value
#else
#define AT_ONCE CHANNELS
#define WIDTH CHANNELS
#define VLOAD(at) JOIN(vload, CHANNELS)(0, at)
#define VSTORE(value, at) JOIN(vstore, CHANNELS)(value, 0, at)
#endif
#define Sums JOIN(SUM, WIDTH)
#define Elements JOIN(ELEMENT, WIDTH)

#if HALF
#define LOAD(at) JOIN(vload_half, WIDTH)(0, at)
#define STORE(value, at) JOIN(JOIN(vstore_half, WIDTH), _rte)(value, 0, at)
#elif FLOAT
#define LOAD(at) VLOAD(at)
#define STORE(value, at) VSTORE(value, at)
#else
#define LOAD(at) JOIN(convert_, Sums)(VLOAD(at))
#if SIGNED
#define TO_ELEMENTS JOIN(JOIN(convert_, Elements), _sat)
#else
#define TO_ELEMENTS JOIN(convert_, Elements)
#endif
// Half is added, so that the shift rounds to the nearest.
#define STORE(value, at) VSTORE(TO_ELEMENTS((value + ((SUM)1 << (2 * BITS - 1))) >> (2 * BITS)), at)
#endif

// A value whose weight is 0 may be NaN or infinite.
#if FLOAT
#define COUNTED(weight, value) ((weight) == 0 ? (Sums)0 : (weight) * (value))
#else
#define COUNTED(weight, value) ((weight) * (value))
#endif

kernel void filter_resize(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                          const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                          const uint to_plane, const int width, const int height, global const int *first_x,
                          global const WEIGHT *weights_x, global const int *first_y, global const WEIGHT *weights_y,
                          const int taps_x, const int taps_y)
{
#if TAPS_X > 0
    const int columns = TAPS_X, rows = TAPS_Y;
#else
    const int columns = taps_x, rows = taps_y;
#endif
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    source += from_offset + from_pitch * first_y[y] + first_x[x] * FROM_STEP;
    result += to_offset + to_pitch * y + x * TO_STEP;
    for (int channel = 0; channel < CHANNELS; channel += AT_ONCE) {
        global const ELEMENT *from = source + channel * FROM_NEXT(from_plane);
        Sums sum = 0;
        for (int j = 0; j < rows; ++j) {
            const SUM down = weights_y[y * rows + j];
            Sums along = 0;
            for (int i = 0; i < columns; ++i) {
                const SUM across = weights_x[x * columns + i];
                const Sums value = LOAD(from + from_pitch * j + i * FROM_STEP);
                along += COUNTED(across, value);
            }
            sum += COUNTED(down, along);
        }
        STORE(sum, result + channel * TO_NEXT(to_plane));
    }
}
