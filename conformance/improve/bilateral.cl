kernel void bilateral(global const float *src, global float *dst, int w, int h, float ss, float sr)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 2 || y < 2 || x >= w - 2 || y >= h - 2)
        return;
    float centre = src[y * w + x];
    float sum = 0.0f, norm = 0.0f;
    for (int j = -2; j <= 2; j++) {
        for (int i = -2; i <= 2; i++) {
            float v = src[(y + j) * w + (x + i)];
            float d = v - centre;
            float weight = exp(-(i * i + j * j) * ss - d * d * sr);
            sum += weight * v;
            norm += weight;
        }
    }
    dst[y * w + x] = sum / norm;
}
