// An image under an affine map: turned, scaled, sheared, moved.
//
// The place in the source of a pixel is a sum of products of integers, in units of 2^-32 pixels, so that every device
// finds the same place, and the same weights. A work-item computes one pixel, all its channels.
//
// TAPS: pixels along each axis: 1 for the nearest one, 2 for linear, 4 for cubic interpolation.

#ifndef TAPS
#define TAPS 2
#endif
#define ONE ((SUM)1 << BITS)
#if FLOAT
#undef ONE
#define ONE 1.0f
#endif

// The first of the TAPS pixels around a place.
static int first_pixel(const long place)
{
#if TAPS == 1
    return (int)((place + (1L << 31)) >> 32);
#else
    return (int)(place >> 32) - (TAPS / 2 - 1);
#endif
}

// Four times the weights of cubic convolution, in units of 2^-48: up to a distance of one pixel, and from there on.
#define PIXEL (1L << 16)
static long inner(const long d)
{
    return (5 * d - 9 * PIXEL) * d * d + 4 * PIXEL * PIXEL * PIXEL;
}

static long outer(const long d)
{
    return ((15 * PIXEL - 3 * d) * d - 24 * PIXEL * PIXEL) * d + 12 * PIXEL * PIXEL * PIXEL;
}

static SUM rounded(const long weight)
{
#if FLOAT
    return convert_float(weight) * 0x1p-50f;
#else
    return (SUM)((weight + (1L << (49 - BITS))) >> (50 - BITS));
#endif
}

// The weights of the TAPS pixels around a place; they sum to 1.
static void weigh(const long place, SUM *weights)
{
    const uint part = (uint)place;
#if TAPS == 1
    weights[0] = ONE;
#elif TAPS == 2
#if FLOAT
    weights[1] = (float)(part >> 8) * 0x1p-24f;
#else
    weights[1] = (SUM)((part + (1UL << (31 - BITS))) >> (32 - BITS));
#endif
    weights[0] = ONE - weights[1];
#else
    const long away = part >> 16;
    weights[0] = rounded(outer(away + PIXEL));
    weights[2] = rounded(inner(PIXEL - away));
    weights[3] = rounded(outer(2 * PIXEL - away));
    weights[1] = ONE - weights[0] - weights[2] - weights[3];
#endif
}

kernel void filter_affine(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                          const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                          const uint to_plane, const int width, const int height, const int from_width,
                          const int from_height, const long xx, const long xy, const long x0, const long yx,
                          const long yy, const long y0)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    source += from_offset;
    result += to_offset + to_pitch * y + x * TO_STEP;
    const long place_x = xx * x + xy * y + x0, place_y = yx * x + yy * y + y0;
    const int left = first_pixel(place_x), top = first_pixel(place_y);
    SUM across[TAPS], down[TAPS];
    weigh(place_x, across);
    weigh(place_y, down);
    for (int channel = 0; channel < CHANNELS; channel += AT_ONCE) {
        global const ELEMENT *from = source + channel * FROM_NEXT(from_plane);
        Sums sum = 0;
        for (int j = 0; j < TAPS; ++j) {
            const int row = fold(top + j, from_height);
            Sums along = 0;
            for (int i = 0; i < TAPS; ++i) {
                const int column = fold(left + i, from_width);
                Sums value = OUTSIDE;
                if (row >= 0 && column >= 0)
                    value = LOAD(from + from_pitch * row + column * FROM_STEP);
                along += COUNTED(across[i], value);
            }
            sum += COUNTED(down[j], along);
        }
        STORE(sum, result + channel * TO_NEXT(to_plane));
    }
}
