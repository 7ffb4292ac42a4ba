// An image of other extents.
//
// Interpolations differ only in weights: a column of the result is a weighted sum of TAPS_X columns from
// `first_x` on, and so are rows. The host computes the weights once for each column and once for each row, where each
// work-item would compute them again; neighbours load neighbouring entries.
//
// A work-item computes one pixel, all its channels: side by side, they are loaded and stored as one vector. Memory is
// the limit when an image shrinks. The texture unit could do the bilinear sum, but not to the bit.
//
// WEIGHT: the type of a weight.
// TAPS_X, TAPS_Y: weights of each sum if they are 1 or 2; 0 if the arguments give their number: one program for all
//                 sizes.

#ifndef WEIGHT
#define WEIGHT float
#endif
#ifndef TAPS_X
#define TAPS_X 2
#define TAPS_Y 2
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
