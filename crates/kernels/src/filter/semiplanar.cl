// NV12 and NV21, what cameras and video decoders give: a plane of luma, and one of chroma with half the columns and rows, U and V side by
// side (NV12) or V and U. BT.601, limited range, as OpenCV has it: in steps of 2^-20.
//
// A work-item takes the 2 x 2 pixels that share a pair of chroma, so that it is loaded or stored once.

// Which comes first; channels of the RGB side.
#ifndef V_FIRST
#define V_FIRST 0
#define CHANNELS 3
#define PLANAR 0
#endif

#if PLANAR
#define RGB_AT(x, y, channel) (rgb + (rgb_offset + rgb_pitch * (y) + (x) + rgb_plane * (channel)))
#else
#define RGB_AT(x, y, channel) (rgb + (rgb_offset + rgb_pitch * (y) + (x) * CHANNELS + (channel)))
#endif
#define HALF_STEP (1 << 19)

kernel void semiplanar_to_rgb(global const uchar *luma, global const uchar *chroma, global uchar *rgb,
                              const uint luma_offset, const uint luma_pitch, const uint chroma_offset,
                              const uint chroma_pitch, const uint rgb_offset, const uint rgb_pitch, const uint rgb_plane,
                              const int width, const int height)
{
    const int left = 2 * get_global_id(0), top = 2 * get_global_id(1);
    if (left >= width || top >= height)
        return;
    global const uchar *pair = chroma + (chroma_offset + chroma_pitch * (top / 2) + left);
    const int u = pair[V_FIRST] - 128, v = pair[1 - V_FIRST] - 128;
    for (int y = top; y < min(top + 2, height); ++y)
        for (int x = left; x < min(left + 2, width); ++x) {
            const int white = 1220542 * max(luma[luma_offset + luma_pitch * y + x] - 16, 0) + HALF_STEP;
            *RGB_AT(x, y, 0) = convert_uchar_sat((white + 1673527 * v) >> 20);
            *RGB_AT(x, y, 1) = convert_uchar_sat((white - 852492 * v - 409993 * u) >> 20);
            *RGB_AT(x, y, 2) = convert_uchar_sat((white + 2116026 * u) >> 20);
#if CHANNELS == 4
            *RGB_AT(x, y, 3) = 255;
#endif
        }
}

kernel void rgb_to_semiplanar(global const uchar *rgb, global uchar *luma, global uchar *chroma, const uint luma_offset,
                              const uint luma_pitch, const uint chroma_offset, const uint chroma_pitch,
                              const uint rgb_offset, const uint rgb_pitch, const uint rgb_plane, const int width,
                              const int height)
{
    const int left = 2 * get_global_id(0), top = 2 * get_global_id(1);
    if (left >= width || top >= height)
        return;
    // At an odd edge the last column and row count twice.
    int3 sum = 0;
    for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i) {
            const int x = min(left + i, width - 1), y = min(top + j, height - 1);
            const int3 colour = (int3)(*RGB_AT(x, y, 0), *RGB_AT(x, y, 1), *RGB_AT(x, y, 2));
            sum += colour;
            if (x == left + i && y == top + j)
                luma[luma_offset + luma_pitch * y + x] =
                    (269484 * colour.x + 528482 * colour.y + 102760 * colour.z + HALF_STEP + (16 << 20)) >> 20;
        }
    // Of four pixels: two bits more.
    const int zero = (128 << 22) + (HALF_STEP << 2);
    const int u = (-155188 * sum.x - 305135 * sum.y + 460324 * sum.z + zero) >> 22;
    const int v = (460324 * sum.x - 385875 * sum.y - 74448 * sum.z + zero) >> 22;
    global uchar *pair = chroma + (chroma_offset + chroma_pitch * (top / 2) + left);
    pair[V_FIRST] = convert_uchar_sat(u);
    pair[1 - V_FIRST] = convert_uchar_sat(v);
}
