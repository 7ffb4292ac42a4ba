// YUV of three planes to sRGB, through linear light and a gain.
kernel void yuv(global const uchar *in, global uchar4 *out, int w, int h, float gain)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float l = in[y * w + x] / 255.0f;
    float u = in[(h + y) * w + x] / 255.0f - 0.5f;
    float v = in[(2 * h + y) * w + x] / 255.0f - 0.5f;
    float r = clamp(l + 1.5748f * v, 0.0f, 1.0f);
    float g = clamp(l - 0.1873f * u - 0.4681f * v, 0.0f, 1.0f);
    float b = clamp(l + 1.8556f * u, 0.0f, 1.0f);
    r = sqrt(clamp(gain * r * r, 0.0f, 1.0f));
    g = sqrt(clamp(gain * g * g, 0.0f, 1.0f));
    b = sqrt(clamp(gain * b * b, 0.0f, 1.0f));
    out[y * w + x] = (uchar4)(convert_uchar_sat(r * 255.0f), convert_uchar_sat(g * 255.0f), convert_uchar_sat(b * 255.0f), 255);
}
