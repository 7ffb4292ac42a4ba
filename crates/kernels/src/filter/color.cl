// Colours and layouts: each pixel by itself, four pixels of a row a work-item. The work is next to nothing, and what counts is to load
// and store few and wide vectors; better still is to do it in the same pass as something else, where that can be had.
//
// Pixels whose channels lie side by side are as many vectors as they have channels, taken apart into one vector a channel and put
// together again by swizzles. The last pixels of a row that are no four go element by element.

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
#define RGB_TO_YCRCB 9
#define YCRCB_TO_RGB 10
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

// Whether four elements lie at multiples of their size. Such vectors are moved as words: there are compilers that move uchar4 in
// pieces.
#ifndef FROM_ALIGNED
#define FROM_ALIGNED 0
#define TO_ALIGNED 0
#define BLOCK uint
#endif

// Weights: in float, or in steps of 2^-15 (gray) or 2^-14 (chroma), rounded half up.
#if FLOAT
typedef float Work;
typedef float4 Works;
#define convert_Works convert_float4
#define WEIGHT(steps, factor) factor
#define SCALED(sum, bits) (sum)
#else
typedef int Work;
typedef int4 Works;
#define convert_Works convert_int4
#define WEIGHT(steps, factor) steps
#define SCALED(sum, bits) (((sum) + (1 << (bits - 1))) >> bits)
#endif

#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define ELEMENT4 JOIN(ELEMENT, 4, )
#if HALF
typedef Works Stored;
#define STORED(value) (value)
#define LOAD_ONE(at) vload_half(0, at)
#define STORE_ONE(value, at) vstore_half_rte(value, 0, at)
#define LOAD(at) vload_half4(0, at)
#define STORE(value, at) vstore_half4_rte(value, 0, at)
#else
typedef ELEMENT4 Stored;
#if FLOAT
#define STORED(value) (value)
#define STORE_ONE(value, at) *(at) = value
#else
#define STORED(value) JOIN(convert_, ELEMENT4, _sat)(value)
#define STORE_ONE(value, at) *(at) = JOIN(convert_, ELEMENT, _sat)(value)
#endif
#define LOAD_ONE(at) (Work)*(at)
#if FROM_ALIGNED
#define LOAD(at) convert_Works(JOIN(as_, ELEMENT4, )(*(global const BLOCK *)(at)))
#else
#define LOAD(at) convert_Works(vload4(0, at))
#endif
#if TO_ALIGNED
#define STORE(value, at) *(global BLOCK *)(at) = JOIN(as_, BLOCK, )(value)
#else
#define STORE(value, at) vstore4(value, 0, at)
#endif
#endif

// Elements from a pixel to the next, and from a channel to the next.
#if FROM_PLANAR
#define FROM_STEP 1
#define FROM_NEXT from_plane
#else
#define FROM_STEP FROM_CHANNELS
#define FROM_NEXT 1
#endif
#if TO_PLANAR
#define TO_STEP 1
#define TO_NEXT to_plane
#else
#define TO_STEP TO_CHANNELS
#define TO_NEXT 1
#endif

#if COLOR == RGB_TO_GRAY || COLOR == BGR_TO_GRAY
static Works gray(const Works red, const Works green, const Works blue)
{
    return SCALED(WEIGHT(9798, 0.299f) * red + WEIGHT(19235, 0.587f) * green + WEIGHT(3735, 0.114f) * blue, 15);
}
#endif

// What B - Y and R - Y are multiplied with, where they go, and the way back.
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

// Four pixels, a vector for each channel.
static void convert_pixels(const Works *from, Works *to)
{
#if COLOR == RGB_TO_GRAY
    to[0] = gray(from[0], from[1], from[2]);
#elif COLOR == BGR_TO_GRAY
    to[0] = gray(from[2], from[1], from[0]);
#elif COLOR == RGB_TO_YUV || COLOR == RGB_TO_YCRCB
    const Works luma = SCALED(WEIGHT(4899, 0.299f) * from[0] + WEIGHT(9617, 0.587f) * from[1] + WEIGHT(1868, 0.114f) * from[2], 14);
    to[0] = luma;
    to[BLUE] = SCALED((from[2] - luma) * TO_BLUE, 14) + ZERO;
    to[RED] = SCALED((from[0] - luma) * TO_RED, 14) + ZERO;
#elif COLOR == YUV_TO_RGB || COLOR == YCRCB_TO_RGB
    const Works blue = from[BLUE] - ZERO, red = from[RED] - ZERO;
    to[0] = from[0] + SCALED(red * RED_BACK, 14);
    to[1] = from[0] + SCALED(blue * GREEN_OF_BLUE + red * GREEN_OF_RED, 14);
    to[2] = from[0] + SCALED(blue * BLUE_BACK, 14);
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

// Four pixels as they lie in memory, taken apart.
static void load_pixels(global const ELEMENT *source, const uint from_plane, Works *channel)
{
#if FROM_PLANAR || FROM_CHANNELS == 1
    for (int i = 0; i < FROM_CHANNELS; ++i)
        channel[i] = LOAD(source + i * FROM_NEXT);
#else
    const Works a = LOAD(source), b = LOAD(source + 4);
#if FROM_CHANNELS == 2
    channel[0] = (Works)(a.s02, b.s02);
    channel[1] = (Works)(a.s13, b.s13);
#elif FROM_CHANNELS == 3
    const Works c = LOAD(source + 8);
    channel[0] = (Works)(a.s03, b.s2, c.s1);
    channel[1] = (Works)(a.s1, b.s03, c.s2);
    channel[2] = (Works)(a.s2, b.s1, c.s03);
#else
    const Works c = LOAD(source + 8), d = LOAD(source + 12);
    channel[0] = (Works)(a.s0, b.s0, c.s0, d.s0);
    channel[1] = (Works)(a.s1, b.s1, c.s1, d.s1);
    channel[2] = (Works)(a.s2, b.s2, c.s2, d.s2);
    channel[3] = (Works)(a.s3, b.s3, c.s3, d.s3);
#endif
#endif
}

// Four pixels, put together as they lie in memory.
static void store_pixels(global ELEMENT *result, const uint to_plane, const Works *channel)
{
#if TO_PLANAR || TO_CHANNELS == 1
    for (int i = 0; i < TO_CHANNELS; ++i)
        STORE(STORED(channel[i]), result + i * TO_NEXT);
#else
    const Stored a = STORED(channel[0]), b = STORED(channel[1]);
#if TO_CHANNELS == 2
    STORE((Stored)(a.s0, b.s0, a.s1, b.s1), result);
    STORE((Stored)(a.s2, b.s2, a.s3, b.s3), result + 4);
#else
    const Stored c = STORED(channel[2]);
#if TO_CHANNELS == 3
    STORE((Stored)(a.s0, b.s0, c.s0, a.s1), result);
    STORE((Stored)(b.s1, c.s1, a.s2, b.s2), result + 4);
    STORE((Stored)(c.s2, a.s3, b.s3, c.s3), result + 8);
#else
    const Stored d = STORED(channel[3]);
    STORE((Stored)(a.s0, b.s0, c.s0, d.s0), result);
    STORE((Stored)(a.s1, b.s1, c.s1, d.s1), result + 4);
    STORE((Stored)(a.s2, b.s2, c.s2, d.s2), result + 8);
    STORE((Stored)(a.s3, b.s3, c.s3, d.s3), result + 12);
#endif
#endif
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
            from[channel] = LOAD_ONE(source + i * FROM_STEP + channel * FROM_NEXT);
        convert_pixels(from, to);
        for (int channel = 0; channel < TO_CHANNELS; ++channel)
            STORE_ONE(to[channel].s0, result + i * TO_STEP + channel * TO_NEXT);
    }
}
