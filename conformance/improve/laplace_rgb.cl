#define CH 3

// 3x3 Laplace of an interleaved RGB image, one pixel per work-item
__kernel void laplace_rgb(__global const uchar *src, __global uchar *dst, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    for (int c = 0; c < CH; c++) {
        int centre = src[(y * width + x) * CH + c];
        int left   = src[(y * width + x - 1) * CH + c];
        int right  = src[(y * width + x + 1) * CH + c];
        int up     = src[((y - 1) * width + x) * CH + c];
        int down   = src[((y + 1) * width + x) * CH + c];
        int value = 4 * centre - left - right - up - down;
        if (value < 0) value = 0;
        if (value > 255) value = 255;
        dst[(y * width + x) * CH + c] = value;
    }
}
