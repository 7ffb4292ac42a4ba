__kernel void bilateral(__global const uchar *in, __global uchar *out, int width, int height, float space, float range)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const float center = in[y * width + x];
    float sum = 0.0f, total = 0.0f;
    for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
            const int nx = clamp(x + dx, 0, width - 1);
            const int ny = clamp(y + dy, 0, height - 1);
            const float value = in[ny * width + nx];
            const float difference = value - center;
            const float weight = exp(-(dx * dx + dy * dy) * space - difference * difference * range);
            sum += weight * value;
            total += weight;
        }
    }
    out[y * width + x] = convert_uchar_sat_rte(sum / total);
}
