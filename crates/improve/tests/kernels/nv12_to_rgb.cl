__kernel void nv12_to_rgb(__global const uchar *luma, __global const uchar *chroma, __global uchar *rgb, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    int c = luma[y * w + x] - 16;
    int at = (y / 2) * w + (x / 2) * 2;
    int d = chroma[at] - 128;
    int e = chroma[at + 1] - 128;
    int r = (298 * c + 409 * e + 128) >> 8;
    int g = (298 * c - 100 * d - 208 * e + 128) >> 8;
    int b = (298 * c + 516 * d + 128) >> 8;
    rgb[(y * w + x) * 3] = clamp(r, 0, 255);
    rgb[(y * w + x) * 3 + 1] = clamp(g, 0, 255);
    rgb[(y * w + x) * 3 + 2] = clamp(b, 0, 255);
}
