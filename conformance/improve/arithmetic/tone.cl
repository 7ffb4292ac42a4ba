// Exposure, white balance and the filmic curve of Hejl and Burgess-Dawson, in front of a soft vignette.
kernel void tone(global const uchar4 *in, global uchar4 *out, int w, int h, float exposure)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float4 c = convert_float4(in[y * w + x]) / 255.0f * exposure;
    float4 a = fmax(c - 0.004f, 0.0f);
    float4 f = (a * (6.2f * a + 0.5f)) / (a * (6.2f * a + 1.7f) + 0.06f);
    float2 d = (float2)(x - 0.5f * w, y - 0.5f * h) / w;
    float fall = 1.0f / (1.0f + dot(d, d));
    f = mix(f, f * f * (3.0f - 2.0f * f), 0.25f) * fall * fall;
    out[y * w + x] = convert_uchar4_sat_rte(f * 255.0f);
}
