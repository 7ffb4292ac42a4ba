// GELU by tanh, of halves computed as floats.
kernel void gelu(global const half *in, global half *out, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float v = vload_half(y * w + x, in);
    float t = tanh(0.79788456f * (v + 0.044715f * v * v * v));
    vstore_half(0.5f * v * (1.0f + t), y * w + x, out);
}
