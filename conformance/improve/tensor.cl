// camera frame (RGBA bytes) to a float tensor, planes R, G, B, normalised
__kernel void camera_to_tensor(__global const uchar *frame, __global float *tensor,
                               int width, int height, float mean, float scale)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= width || y >= height) return;
    int p = y * width + x;
    float r = (float)frame[4 * p];
    float g = (float)frame[4 * p + 1];
    float b = (float)frame[4 * p + 2];
    tensor[p] = (r / 255.0f - mean) / scale;
    tensor[width * height + p] = (g / 255.0f - mean) / scale;
    tensor[2 * width * height + p] = (b / 255.0f - mean) / scale;
}
