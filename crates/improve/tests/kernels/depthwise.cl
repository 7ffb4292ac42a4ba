// Depthwise 3x3 convolution of int8, channels last, valid padding.
__kernel void depthwise(__global const char *in, __global const char *weights, __global const int *bias,
                        __global char *out, int channels, int width, int out_width, int out_height, int multiplier,
                        int shift)
{
    int c = get_global_id(0);
    int x = get_global_id(1);
    int y = get_global_id(2);
    if (c >= channels || x >= out_width || y >= out_height)
        return;
    int acc = bias[c];
    for (int ky = 0; ky < 3; ++ky)
        for (int kx = 0; kx < 3; ++kx)
            acc += in[((y + ky) * width + x + kx) * channels + c] * weights[(ky * 3 + kx) * channels + c];
    int scaled = (int)(((long)acc * multiplier) >> shift);
    out[(y * out_width + x) * channels + c] = (char)clamp(scaled, -128, 127);
}
