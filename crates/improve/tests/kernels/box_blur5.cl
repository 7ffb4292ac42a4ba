__kernel void box_blur5(__global const float *in, __global float *out, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < w && y < h) {
        float sum = 0.0f;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                int xx = clamp(x + dx, 0, w - 1); // repeat the border
                int yy = clamp(y + dy, 0, h - 1);
                sum += in[yy * w + xx];
            }
        out[y * w + x] = sum / 25.0f;
    }
}
