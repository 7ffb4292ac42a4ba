// Sharpens a gray image; the border is copied.
__kernel void gray_laplace(__global const uchar *src, __global uchar *dst, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        dst[i] = src[i];
        return;
    }
    int sum = 9 * src[i];
    sum -= src[i - 1] + src[i + 1];
    sum -= src[i - width - 1] + src[i - width] + src[i - width + 1];
    sum -= src[i + width - 1] + src[i + width] + src[i + width + 1];
    dst[i] = clamp(sum, 0, 255);
}
