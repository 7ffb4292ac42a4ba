__kernel void rgb_to_planar(__global const uchar *rgb, __global float *out, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    for (int c = 0; c < 3; c++)
        out[c * w * h + y * w + x] = rgb[(y * w + x) * 3 + c] / 255.0f;
}
