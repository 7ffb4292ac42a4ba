__kernel void gaussian_row(__global const uchar *in, __global uchar *out, __constant float *weights, int radius,
                           int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) {
        int at = min(max(x + k, 0), w - 1);
        sum += weights[k + radius] * in[y * w + at];
    }
    out[y * w + x] = (uchar)(sum + 0.5f);
}
