// NV12 and NV21, what cameras and video decoders give: a plane of luma, and one of chroma with half the columns and rows, U and V side by
// side (NV12) or V and U. BT.601, limited range, as OpenCV has it: in steps of 2^-20.
//
// A work-item takes four columns of two rows: vectors of luma, two pairs of chroma that are loaded or stored once, and RGB taken
// apart and put together by swizzles. At the edges it goes pixel by pixel.

// Which comes first; channels of the RGB side.
#ifndef V_FIRST
#define V_FIRST 0
#define CHANNELS 3
#define PLANAR 0
#endif
// Whether four bytes lie at multiples of four, in all planes. Such vectors are moved as words: there are compilers that move
// uchar4 in pieces.
#ifndef ALIGNED
#define ALIGNED 0
#endif

#if ALIGNED
#define LOAD(at) as_uchar4(*(global const uint *)(at))
#define STORE(value, at) *(global uint *)(at) = as_uint(value)
#else
#define LOAD(at) vload4(0, at)
#define STORE(value, at) vstore4(value, 0, at)
#endif
// Bytes from a pixel to the next, and from a channel to the next.
#if PLANAR
#define STEP 1
#define NEXT rgb_plane
#else
#define STEP CHANNELS
#define NEXT 1
#endif
#define HALF_STEP (1 << 19)
#define RED(white, v) (((white) + 1673527 * (v)) >> 20)
#define GREEN(white, u, v) (((white) - 852492 * (v) - 409993 * (u)) >> 20)
#define BLUE(white, u) (((white) + 2116026 * (u)) >> 20)
#define WHITE(luma) (1220542 * max((luma) - 16, 0) + HALF_STEP)
#define LUMA(red, green, blue) \
    ((269484 * (red) + 528482 * (green) + 102760 * (blue) + HALF_STEP + (16 << 20)) >> 20)
// Of sums of four pixels: two bits more.
#define CHROMA(sum) (((sum) + (128 << 22) + (HALF_STEP << 2)) >> 22)
#define CHROMA_U(red, green, blue) CHROMA(-155188 * (red) - 305135 * (green) + 460324 * (blue))
#define CHROMA_V(red, green, blue) CHROMA(460324 * (red) - 385875 * (green) - 74448 * (blue))

// Four pixels of a row.
static void store_rgb(global uchar *rgb, const uint rgb_plane, const uchar4 r, const uchar4 g, const uchar4 b)
{
#if PLANAR
    STORE(r, rgb);
    STORE(g, rgb + NEXT);
    STORE(b, rgb + 2 * NEXT);
#if CHANNELS == 4
    STORE((uchar4)(255), rgb + 3 * NEXT);
#endif
#elif CHANNELS == 4
    STORE((uchar4)(r.s0, g.s0, b.s0, 255), rgb);
    STORE((uchar4)(r.s1, g.s1, b.s1, 255), rgb + 4);
    STORE((uchar4)(r.s2, g.s2, b.s2, 255), rgb + 8);
    STORE((uchar4)(r.s3, g.s3, b.s3, 255), rgb + 12);
#else
    STORE((uchar4)(r.s0, g.s0, b.s0, r.s1), rgb);
    STORE((uchar4)(g.s1, b.s1, r.s2, g.s2), rgb + 4);
    STORE((uchar4)(b.s2, r.s3, g.s3, b.s3), rgb + 8);
#endif
}

static void load_rgb(global const uchar *rgb, const uint rgb_plane, int4 *r, int4 *g, int4 *b)
{
#if PLANAR
    const uchar4 red = LOAD(rgb), green = LOAD(rgb + NEXT), blue = LOAD(rgb + 2 * NEXT);
#else
    const uchar4 first = LOAD(rgb), second = LOAD(rgb + 4), third = LOAD(rgb + 8);
#if CHANNELS == 4
    const uchar4 fourth = LOAD(rgb + 12);
    const uchar4 red = (uchar4)(first.s0, second.s0, third.s0, fourth.s0);
    const uchar4 green = (uchar4)(first.s1, second.s1, third.s1, fourth.s1);
    const uchar4 blue = (uchar4)(first.s2, second.s2, third.s2, fourth.s2);
#else
    const uchar4 red = (uchar4)(first.s03, second.s2, third.s1);
    const uchar4 green = (uchar4)(first.s1, second.s03, third.s2);
    const uchar4 blue = (uchar4)(first.s2, second.s1, third.s03);
#endif
#endif
    *r = convert_int4(red);
    *g = convert_int4(green);
    *b = convert_int4(blue);
}

kernel void semiplanar_to_rgb(global const uchar *luma, global const uchar *chroma, global uchar *rgb,
                              const uint luma_offset, const uint luma_pitch, const uint chroma_offset,
                              const uint chroma_pitch, const uint rgb_offset, const uint rgb_pitch, const uint rgb_plane,
                              const int width, const int height)
{
    const int left = 4 * get_global_id(0), top = 2 * get_global_id(1);
    if (left >= width || top >= height)
        return;
    luma += luma_offset + luma_pitch * top + left;
    chroma += chroma_offset + chroma_pitch * (top / 2) + left;
    rgb += rgb_offset + rgb_pitch * top + left * STEP;
    if (left + 4 <= width) {
        const int4 pairs = convert_int4(LOAD(chroma)) - 128;
#if V_FIRST
        const int4 u = pairs.s1133, v = pairs.s0022;
#else
        const int4 u = pairs.s0022, v = pairs.s1133;
#endif
        for (int y = 0; y < min(2, height - top); ++y) {
            const int4 white = WHITE(convert_int4(LOAD(luma + luma_pitch * y)));
            store_rgb(rgb + rgb_pitch * y, rgb_plane, convert_uchar4_sat(RED(white, v)),
                      convert_uchar4_sat(GREEN(white, u, v)), convert_uchar4_sat(BLUE(white, u)));
        }
        return;
    }
    for (int y = 0; y < min(2, height - top); ++y)
        for (int x = 0; x < width - left; ++x) {
            global const uchar *pair = chroma + (x & ~1);
            const int u = pair[V_FIRST] - 128, v = pair[1 - V_FIRST] - 128;
            const int white = WHITE((int)luma[luma_pitch * y + x]);
            global uchar *pixel = rgb + rgb_pitch * y + x * STEP;
            pixel[0] = convert_uchar_sat(RED(white, v));
            pixel[NEXT] = convert_uchar_sat(GREEN(white, u, v));
            pixel[2 * NEXT] = convert_uchar_sat(BLUE(white, u));
#if CHANNELS == 4
            pixel[3 * NEXT] = 255;
#endif
        }
}

kernel void rgb_to_semiplanar(global const uchar *rgb, global uchar *luma, global uchar *chroma, const uint luma_offset,
                              const uint luma_pitch, const uint chroma_offset, const uint chroma_pitch,
                              const uint rgb_offset, const uint rgb_pitch, const uint rgb_plane, const int width,
                              const int height)
{
    const int left = 4 * get_global_id(0), top = 2 * get_global_id(1);
    if (left >= width || top >= height)
        return;
    rgb += rgb_offset + rgb_pitch * top + left * STEP;
    luma += luma_offset + luma_pitch * top + left;
    chroma += chroma_offset + chroma_pitch * (top / 2) + left;
    // At an odd edge the last column and row count twice.
    const int rows = min(2, height - top), columns = min(4, width - left);
    if (columns == 4) {
        int4 red = 0, green = 0, blue = 0;
        for (int y = 0; y < 2; ++y) {
            int4 r, g, b;
            load_rgb(rgb + rgb_pitch * min(y, rows - 1), rgb_plane, &r, &g, &b);
            if (y < rows)
                STORE(convert_uchar4(LUMA(r, g, b)), luma + luma_pitch * y);
            red += r;
            green += g;
            blue += b;
        }
        const int2 r = red.s02 + red.s13, g = green.s02 + green.s13, b = blue.s02 + blue.s13;
        const int2 u = CHROMA_U(r, g, b), v = CHROMA_V(r, g, b);
#if V_FIRST
        STORE(convert_uchar4_sat((int4)(v.s0, u.s0, v.s1, u.s1)), chroma);
#else
        STORE(convert_uchar4_sat((int4)(u.s0, v.s0, u.s1, v.s1)), chroma);
#endif
        return;
    }
    for (int pair = 0; pair < columns; pair += 2) {
        int red = 0, green = 0, blue = 0;
        for (int y = 0; y < 2; ++y)
            for (int x = pair; x < pair + 2; ++x) {
                global const uchar *pixel = rgb + rgb_pitch * min(y, rows - 1) + min(x, columns - 1) * STEP;
                const int r = pixel[0], g = pixel[NEXT], b = pixel[2 * NEXT];
                if (y < rows && x < columns)
                    luma[luma_pitch * y + x] = LUMA(r, g, b);
                red += r;
                green += g;
                blue += b;
            }
        chroma[pair + V_FIRST] = convert_uchar_sat(CHROMA_U(red, green, blue));
        chroma[pair + 1 - V_FIRST] = convert_uchar_sat(CHROMA_V(red, green, blue));
    }
}
