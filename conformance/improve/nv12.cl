inline uchar clamp8(int v) { return (uchar)(v < 0 ? 0 : (v > 255 ? 255 : v)); }

kernel void nv12_to_rgb(global const uchar *luma, global const uchar *chroma, global uchar *rgb, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int Y = luma[y * width + x] - 16;
    int U = chroma[(y / 2) * width + (x & ~1)] - 128;
    int V = chroma[(y / 2) * width + (x & ~1) + 1] - 128;
    int R = (298 * Y + 409 * V + 128) >> 8;
    int G = (298 * Y - 100 * U - 208 * V + 128) >> 8;
    int B = (298 * Y + 516 * U + 128) >> 8;
    int o = 3 * (y * width + x);
    rgb[o] = clamp8(R);
    rgb[o + 1] = clamp8(G);
    rgb[o + 2] = clamp8(B);
}
