// sRGB to linear and back with a gain, one pixel a work-item
kernel void gamma(global const uchar *in, global uchar *out, int w, int h, float gain)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    for (int c = 0; c < 3; c++) {
        float v = in[3 * (y * w + x) + c] / 255.0f;
        float l = v <= 0.04045f ? v / 12.92f : pow((v + 0.055f) / 1.055f, 2.4f);
        l = fmin(l * gain, 1.0f);
        float s = l <= 0.0031308f ? 12.92f * l : 1.055f * pow(l, 1.0f / 2.4f) - 0.055f;
        out[3 * (y * w + x) + c] = (uchar)(s * 255.0f + 0.5f);
    }
}
