// depthwise 3x3 convolution, int8, NHWC, no padding; requantised with a multiplier and a shift
kernel void depthwise(global const char *in, global const char *weight, global const int *bias, global char *out,
                      int width, int channels, int mult, int shift)
{
    int c = get_global_id(0);
    int x = get_global_id(1);
    int y = get_global_id(2);
    int acc = bias[c];
    for (int ky = 0; ky < 3; ky++)
        for (int kx = 0; kx < 3; kx++)
            acc += in[((y + ky) * width + x + kx) * channels + c] * weight[(ky * 3 + kx) * channels + c];
    int v = (acc * mult) >> shift;
    out[(y * (width - 2) + x) * channels + c] = (char)max(-128, min(127, v));
}
