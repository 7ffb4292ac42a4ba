// horizontal pass of a separable 5-tap Gaussian, float
constant float weights[5] = { 0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f };
kernel void gauss_row(global const float *in, global float *out, int width, int height)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 2 || x >= width - 2) return;
    float sum = 0.0f;
    for (int k = 0; k < 5; k++)
        sum += weights[k] * in[y * width + x + k - 2];
    out[y * width + x] = sum;
}
