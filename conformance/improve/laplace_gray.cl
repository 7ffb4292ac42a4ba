// one gray pixel per work-item
__kernel void laplace_gray(__global const uchar *src, __global uchar *dst, const uint width, const uint height)
{
    const size_t x = get_global_id(0) + 1;
    const size_t y = get_global_id(1) + 1;
    if (x + 1 < width && y + 1 < height) {
        const size_t at = y * width + x;
        const int sum = src[at - width] + src[at - 1] + src[at + 1] + src[at + width] - 4 * src[at];
        dst[at] = convert_uchar_sat(abs(sum));
    }
}
