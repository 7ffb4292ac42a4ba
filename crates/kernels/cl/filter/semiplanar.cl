// NV12 and NV21, the frames of cameras and video decoders: a plane of luma, and a plane of chroma with half the
// columns and rows, U and V side by side (NV12) or V and U (NV21). BT.601, limited range, as OpenCV computes it: in
// steps of 2^-20.
//
// A work-item takes four columns of two rows: vectors of luma, two pairs of chroma that are loaded or stored once,
// and RGB as one vector for each channel. At the edges it goes pixel by pixel.
//
// V_FIRST: 1 for NV21. The RGB side has TO_CHANNELS channels in both directions; elements are bytes.

#ifndef V_FIRST
#define V_FIRST 0
#endif
#define CHANNELS TO_CHANNELS
#define STEP TO_STEP
#define NEXT TO_NEXT(rgb_plane)

#define HALF_STEP (1 << 19)
#define RED(white, v) (((white) + 1673527 * (v)) >> 20)
#define GREEN(white, u, v) (((white) - 852492 * (v) - 409993 * (u)) >> 20)
#define BLUE(white, u) (((white) + 2116026 * (u)) >> 20)
#define WHITE(luma) (1220542 * max((luma) - 16, 0) + HALF_STEP)
#define LUMA(red, green, blue) \
    ((269484 * (red) + 528482 * (green) + 102760 * (blue) + HALF_STEP + (16 << 20)) >> 20)
// Chroma is of the sum of four pixels: two bits more.
#define CHROMA(sum) (((sum) + (128 << 22) + (HALF_STEP << 2)) >> 22)
#define CHROMA_U(red, green, blue) CHROMA(-155188 * (red) - 305135 * (green) + 460324 * (blue))
#define CHROMA_V(red, green, blue) CHROMA(460324 * (red) - 385875 * (green) - 74448 * (blue))

kernel void semiplanar_to_rgb(global const uchar *luma, global const uchar *chroma, global uchar *rgb,
                              const uint luma_offset, const uint luma_pitch, const uint chroma_offset,
                              const uint chroma_pitch, const uint rgb_offset, const uint rgb_pitch,
                              const uint rgb_plane, const int width, const int height)
{
    const int left = 4 * get_global_id(0), top = 2 * get_global_id(1);
    if (left >= width || top >= height)
        return;
    luma += luma_offset + luma_pitch * top + left;
    chroma += chroma_offset + chroma_pitch * (top / 2) + left;
    rgb += rgb_offset + rgb_pitch * top + left * STEP;
    if (left + 4 <= width) {
        const int4 pairs = LOAD(chroma) - 128;
#if V_FIRST
        const int4 u = pairs.s1133, v = pairs.s0022;
#else
        const int4 u = pairs.s0022, v = pairs.s1133;
#endif
        for (int y = 0; y < min(2, height - top); ++y) {
            const int4 white = WHITE(LOAD(luma + luma_pitch * y));
            const int4 channel[] = { RED(white, v), GREEN(white, u, v), BLUE(white, u), 255 };
            store_pixels(rgb + rgb_pitch * y, rgb_plane, channel);
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
            int4 channel[CHANNELS];
            load_pixels(rgb + rgb_pitch * min(y, rows - 1), rgb_plane, channel);
            const int4 r = channel[0], g = channel[1], b = channel[2];
            if (y < rows)
                STORE(STORED(LUMA(r, g, b)), luma + luma_pitch * y);
            red += r;
            green += g;
            blue += b;
        }
        const int2 r = red.s02 + red.s13, g = green.s02 + green.s13, b = blue.s02 + blue.s13;
        const int2 u = CHROMA_U(r, g, b), v = CHROMA_V(r, g, b);
#if V_FIRST
        STORE(STORED((int4)(v.s0, u.s0, v.s1, u.s1)), chroma);
#else
        STORE(STORED((int4)(u.s0, v.s0, u.s1, v.s1)), chroma);
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
