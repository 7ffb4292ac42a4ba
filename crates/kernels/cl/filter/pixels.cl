// Four pixels of a row, one vector for each channel.
//
// Pixels whose channels are side by side are as many vectors as they have channels. A work-item loads whole vectors,
// separates the channels by swizzles, computes with all four pixels at once, and joins them again: few and wide loads
// and stores, which is what counts where memory is the limit.
//
// FLOAT:   1 for half and float. Integers are computed in int and saturated when stored.
// FROM_ALIGNED, TO_ALIGNED: 1 when four elements are at multiples of their size. They are then moved as words, BLOCK:
//                           some compilers move uchar4 in pieces.

#ifndef FLOAT
#define FLOAT 1
#endif
#ifndef FROM_ALIGNED
#define FROM_ALIGNED 0
#define TO_ALIGNED 0
#define BLOCK uint4
#endif

#if FLOAT
typedef float Work;
typedef float4 Works;
#define convert_Works convert_float4
#else
typedef int Work;
typedef int4 Works;
#define convert_Works convert_int4
#endif

#define ELEMENT4 JOIN(ELEMENT, 4)
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
#define STORED(value) JOIN(JOIN(convert_, ELEMENT4), _sat)(value)
#define STORE_ONE(value, at) *(at) = JOIN(JOIN(convert_, ELEMENT), _sat)(value)
#endif
#define LOAD_ONE(at) (Work)*(at)
#if FROM_ALIGNED
#define LOAD(at) convert_Works(JOIN(as_, ELEMENT4)(*(global const BLOCK *)(at)))
#else
#define LOAD(at) convert_Works(vload4(0, at))
#endif
#if TO_ALIGNED
#define STORE(value, at) *(global BLOCK *)(at) = JOIN(as_, BLOCK)(value)
#else
#define STORE(value, at) vstore4(value, 0, at)
#endif
#endif

// Four pixels, one vector for each channel.
static void load_pixels(global const ELEMENT *source, const uint from_plane, Works *channel)
{
#if FROM_PLANAR || FROM_CHANNELS == 1
    for (int i = 0; i < FROM_CHANNELS; ++i)
        channel[i] = LOAD(source + i * FROM_NEXT(from_plane));
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

// Stores four pixels, given as one vector for each channel.
static void store_pixels(global ELEMENT *result, const uint to_plane, const Works *channel)
{
#if TO_PLANAR || TO_CHANNELS == 1
    for (int i = 0; i < TO_CHANNELS; ++i)
        STORE(STORED(channel[i]), result + i * TO_NEXT(to_plane));
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
