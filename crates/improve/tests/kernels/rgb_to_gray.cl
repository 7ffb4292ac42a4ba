static float luma(float r, float g, float b) { return 0.299f * r + 0.587f * g + 0.114f * b; }

__kernel void rgb_to_gray(__global const uchar *rgb, __global uchar *gray, int n)
{
    int i = get_global_id(0);
    if (i >= n) return;
    float r = rgb[3 * i];
    float g = rgb[3 * i + 1];
    float b = rgb[3 * i + 2];
    gray[i] = (uchar)(luma(r, g, b) + 0.5f);
}
