// A polynomial of degree seven for each channel, by Horner's rule.
kernel void curve(global const uchar4 *in, global uchar4 *out, global const float *k, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float4 c = convert_float4(in[y * w + x]) / 255.0f;
    float4 sum = 0.0f;
    for (int i = 0; i < 8; i++)
        sum = sum * c + k[i];
    out[y * w + x] = convert_uchar4_sat(sum * 255.0f);
}
