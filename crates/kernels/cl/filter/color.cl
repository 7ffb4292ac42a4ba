// Colour conversions and channel layouts, pixel by pixel, four pixels of a row for each work-item.
//
// There is little to compute, so memory is the limit; best is to convert in the same pass as another filter, where
// that is possible (gray.cl).
//
// COLOR:  the conversion; NOTHING only changes where channels are.
// OPAQUE: the largest value of alpha. ZERO: the value of chroma that means none.

#define NOTHING 0
#define RGB_TO_GRAY 1
#define BGR_TO_GRAY 2
#define GRAY_TO_RGB 3
#define SWAP_RED_BLUE 4
#define DROP_ALPHA 5
#define ADD_ALPHA 6
#define RGB_TO_YUV 7
#define YUV_TO_RGB 8
#define RGB_TO_YCRCB 9
#define YCRCB_TO_RGB 10
#ifndef COLOR
#define COLOR RGB_TO_GRAY
#endif

#ifndef OPAQUE
#define OPAQUE 1.0f
#define ZERO 0.5f
#endif

// Weights of chroma: in float, or as integers in steps of 2^-14, rounded half up.
#if FLOAT
#define GRAY_OF LUMA_FLOAT
#define LUMA_OF LUMA_FLOAT
#define WEIGHT(steps, factor) factor
#define SCALED(sum) (sum)
#else
#define GRAY_OF LUMA_15
#define LUMA_OF LUMA_14
#define WEIGHT(steps, factor) steps
#define SCALED(sum) (((sum) + (1 << 13)) >> 14)
#endif

// The factors of B - Y and R - Y, the channels they are stored in, and the factors of the inverse conversion.
#if COLOR == RGB_TO_YUV || COLOR == YUV_TO_RGB
#define BLUE 1
#define RED 2
#define TO_BLUE WEIGHT(8061, 0.492f)
#define TO_RED WEIGHT(14369, 0.877f)
#define BLUE_BACK WEIGHT(33292, 2.032f)
#define GREEN_OF_BLUE WEIGHT(-6472, -0.395f)
#define GREEN_OF_RED WEIGHT(-9519, -0.581f)
#define RED_BACK WEIGHT(18678, 1.14f)
#else
#define BLUE 2
#define RED 1
#define TO_BLUE WEIGHT(9241, 0.564f)
#define TO_RED WEIGHT(11682, 0.713f)
#define BLUE_BACK WEIGHT(29049, 1.773f)
#define GREEN_OF_BLUE WEIGHT(-5636, -0.344f)
#define GREEN_OF_RED WEIGHT(-11698, -0.714f)
#define RED_BACK WEIGHT(22987, 1.403f)
#endif

// Converts four pixels, one vector for each channel.
static void convert_pixels(const Works *from, Works *to)
{
#if COLOR == RGB_TO_GRAY
    to[0] = GRAY_OF(from[0], from[1], from[2]);
#elif COLOR == BGR_TO_GRAY
    to[0] = GRAY_OF(from[2], from[1], from[0]);
#elif COLOR == RGB_TO_YUV || COLOR == RGB_TO_YCRCB
    const Works luma = LUMA_OF(from[0], from[1], from[2]);
    to[0] = luma;
    to[BLUE] = SCALED((from[2] - luma) * TO_BLUE) + ZERO;
    to[RED] = SCALED((from[0] - luma) * TO_RED) + ZERO;
#elif COLOR == YUV_TO_RGB || COLOR == YCRCB_TO_RGB
    const Works blue = from[BLUE] - ZERO, red = from[RED] - ZERO;
    to[0] = from[0] + SCALED(red * RED_BACK);
    to[1] = from[0] + SCALED(blue * GREEN_OF_BLUE + red * GREEN_OF_RED);
    to[2] = from[0] + SCALED(blue * BLUE_BACK);
#else
    for (int channel = 0; channel < TO_CHANNELS; ++channel) {
#if COLOR == GRAY_TO_RGB
        to[channel] = from[0];
#elif COLOR == ADD_ALPHA
        to[channel] = channel < FROM_CHANNELS ? from[min(channel, FROM_CHANNELS - 1)] : (Works)OPAQUE;
#elif COLOR == SWAP_RED_BLUE
        to[channel] = from[channel < 3 ? 2 - channel : channel];
#else
        to[channel] = from[channel];
#endif
    }
#endif
}

kernel void filter_color(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                         const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                         const uint to_plane, const int width, const int height)
{
    const int x = get_global_id(0) * 4, y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    source += from_offset + from_pitch * y + x * FROM_STEP;
    result += to_offset + to_pitch * y + x * TO_STEP;
    Works from[FROM_CHANNELS], to[TO_CHANNELS];
    if (x + 4 <= width) {
        load_pixels(source, from_plane, from);
        convert_pixels(from, to);
        store_pixels(result, to_plane, to);
        return;
    }
    for (int i = 0; i < width - x; ++i) {
        for (int channel = 0; channel < FROM_CHANNELS; ++channel)
            from[channel] = LOAD_ONE(source + i * FROM_STEP + channel * FROM_NEXT(from_plane));
        convert_pixels(from, to);
        for (int channel = 0; channel < TO_CHANNELS; ++channel)
            STORE_ONE(to[channel].s0, result + i * TO_STEP + channel * TO_NEXT(to_plane));
    }
}
