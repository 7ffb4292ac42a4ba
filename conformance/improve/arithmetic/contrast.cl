// Local contrast: a pixel, less the mean of its 7 x 7 neighbours, over their deviation.
kernel void contrast(global const uchar *in, global uchar *out, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 3 || y < 3 || x >= w - 3 || y >= h - 3)
        return;
    float sum = 0.0f, squares = 0.0f;
    for (int j = -3; j <= 3; j++) {
        for (int i = -3; i <= 3; i++) {
            float v = in[(y + j) * w + x + i] / 255.0f;
            sum += v;
            squares += v * v;
        }
    }
    float mean = sum / 49.0f;
    float deviation = sqrt(fmax(squares / 49.0f - mean * mean, 0.0f)) + 0.05f;
    float v = in[y * w + x] / 255.0f;
    out[y * w + x] = convert_uchar_sat_rte(127.5f + 40.0f * (v - mean) / deviation);
}
