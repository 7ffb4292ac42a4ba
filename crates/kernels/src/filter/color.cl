// Colours and layouts: each pixel by itself, one pixel a work-item. Neighbours in dimension 0 load neighbouring pixels, so that on GPUs
// with warps a cache line serves many of them; the work is next to nothing, and what counts is to do it in the same pass
// as something else where that can be had.

// The conversion, by its position in the list; NOTHING changes no more than how channels lie.
#define NOTHING 0
#define RGB_TO_GRAY 1
#define BGR_TO_GRAY 2
#define GRAY_TO_RGB 3
#define SWAP_RED_BLUE 4
#define DROP_ALPHA 5
#define ADD_ALPHA 6
#define RGB_TO_YUV 7
#define YUV_TO_RGB 8
#ifndef COLOR
#define COLOR RGB_TO_GRAY
#endif

// Element type of source and result; half is loaded into float. OPAQUE is alpha's largest value, ZERO where chroma has its zero.
#ifndef ELEMENT
#define ELEMENT uchar
#define HALF 0
#define FLOAT 0
#define OPAQUE 255
#define ZERO 128
#endif
#ifndef FROM_CHANNELS
#define FROM_CHANNELS 3
#define TO_CHANNELS 1
#define FROM_PLANAR 0
#define TO_PLANAR 0
#endif

#if FROM_PLANAR
#define FROM_AT(channel) (source + (from_offset + from_pitch * y + x + from_plane * (channel)))
#else
#define FROM_AT(channel) (source + (from_offset + from_pitch * y + x * FROM_CHANNELS + (channel)))
#endif
#if TO_PLANAR
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x + to_plane * (channel)))
#else
#define TO_AT(channel) (result + (to_offset + to_pitch * y + x * TO_CHANNELS + (channel)))
#endif

#if HALF
#define LOAD(channel) vload_half(0, FROM_AT(channel))
#define STORE(channel, value) vstore_half_rte(value, 0, TO_AT(channel))
#elif FLOAT
#define LOAD(channel) (*FROM_AT(channel))
#define STORE(channel, value) *TO_AT(channel) = value
#else
#define LOAD(channel) (int)*FROM_AT(channel)
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define STORE(channel, value) *TO_AT(channel) = JOIN(convert_, ELEMENT, _sat)(value)
#endif

// Weights: in float, or in steps of 2^-15, rounded half up.
#if FLOAT
typedef float Work;
#define WEIGHT(steps, factor) factor
#define SCALED(sum) (sum)
#else
typedef int Work;
#define WEIGHT(steps, factor) steps
#define SCALED(sum) (((sum) + 16384) >> 15)
#endif

#if COLOR == RGB_TO_GRAY || COLOR == BGR_TO_GRAY || COLOR == RGB_TO_YUV
static Work luma(const Work red, const Work green, const Work blue)
{
    return SCALED(WEIGHT(9798, 0.299f) * red + WEIGHT(19235, 0.587f) * green + WEIGHT(3735, 0.114f) * blue);
}
#endif

kernel void filter_color(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                         const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                         const uint to_plane, const int width, const int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
#if COLOR == RGB_TO_GRAY
    STORE(0, luma(LOAD(0), LOAD(1), LOAD(2)));
#elif COLOR == BGR_TO_GRAY
    STORE(0, luma(LOAD(2), LOAD(1), LOAD(0)));
#elif COLOR == GRAY_TO_RGB
    const Work gray = LOAD(0);
    STORE(0, gray);
    STORE(1, gray);
    STORE(2, gray);
#elif COLOR == RGB_TO_YUV
    const Work red = LOAD(0), blue = LOAD(2), gray = luma(red, LOAD(1), blue);
    STORE(0, gray);
    STORE(1, SCALED((blue - gray) * WEIGHT(18492, 0.564334f)) + ZERO);
    STORE(2, SCALED((red - gray) * WEIGHT(23372, 0.713267f)) + ZERO);
#elif COLOR == YUV_TO_RGB
    const Work gray = LOAD(0), u = LOAD(1) - ZERO, v = LOAD(2) - ZERO;
    STORE(0, gray + SCALED(v * WEIGHT(45941, 1.402f)));
    STORE(1, gray - SCALED(u * WEIGHT(11277, 0.344136f) + v * WEIGHT(23401, 0.714136f)));
    STORE(2, gray + SCALED(u * WEIGHT(58065, 1.772f)));
#else
    for (int channel = 0; channel < TO_CHANNELS; ++channel) {
#if COLOR == ADD_ALPHA
        const Work value = channel < FROM_CHANNELS ? LOAD(min(channel, FROM_CHANNELS - 1)) : OPAQUE;
#elif COLOR == SWAP_RED_BLUE
        const Work value = LOAD(channel < 3 ? 2 - channel : channel);
#else
        const Work value = LOAD(channel);
#endif
        STORE(channel, value);
    }
#endif
}
