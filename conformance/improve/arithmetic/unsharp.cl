// Unsharp mask: the picture and its difference from a blur of 5 x 5, whose weights are computed.
kernel void unsharp(global const uchar *in, global uchar *out, int w, int h, float amount)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 2 || y < 2 || x >= w - 2 || y >= h - 2)
        return;
    float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    float sum = 0.0f;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++)
            sum += weights[j + 2] * weights[i + 2] * in[(y + j) * w + x + i];
    float centre = in[y * w + x];
    out[y * w + x] = convert_uchar_sat_rte(centre + amount * (centre - sum));
}
