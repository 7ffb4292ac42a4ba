// camera image (RGB interleaved) to a float tensor (3 planes), normalised
kernel void planar(global const uchar *rgb, global float *tensor, int w, int h, float mean, float scale)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int i = y * w + x;
    float r = rgb[3 * i];
    float g = rgb[3 * i + 1];
    float b = rgb[3 * i + 2];
    tensor[i] = (r - mean) * scale;
    tensor[w * h + i] = (g - mean) * scale;
    tensor[2 * w * h + i] = (b - mean) * scale;
}
