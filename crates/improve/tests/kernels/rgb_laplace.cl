// Sharpens an image of packed RGB; the border is left to the host.
__kernel void rgb_laplace(__global const uchar *source, __global uchar *result, int width, int height)
{
    const int y = get_global_id(0), x = get_global_id(1);
    if (x < 1 || y < 1 || x > width - 2 || y > height - 2)
        return;
    const int pitch = 3 * width, at = y * pitch + 3 * x;
    int sum[3];
    for (int c = 0; c < 3; ++c) {
        const int i = at + c;
        sum[c] = 9 * source[i] - source[i - 3] - source[i + 3];
        sum[c] -= source[i - pitch - 3] + source[i - pitch] + source[i - pitch + 3];
        sum[c] -= source[i + pitch - 3] + source[i + pitch] + source[i + pitch + 3];
    }
    for (int c = 0; c < 3; ++c)
        result[at + c] = clamp(sum[c], 0, 255);
}
