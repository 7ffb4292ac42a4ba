// Turns the hue of a picture: a matrix of 3 x 3 with the sine and cosine of an angle.
kernel void hue(global const uchar4 *in, global uchar4 *out, int w, int h, float s, float c)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    uchar4 p = in[y * w + x];
    float r = p.x / 255.0f, g = p.y / 255.0f, b = p.z / 255.0f;
    float third = 1.0f / 3.0f, root = 0.57735f;
    float d = c + third * (1.0f - c);
    float e = third * (1.0f - c) - root * s;
    float f = third * (1.0f - c) + root * s;
    float r2 = r * d + g * e + b * f;
    float g2 = r * f + g * d + b * e;
    float b2 = r * e + g * f + b * d;
    float light = 0.3f * r2 + 0.59f * g2 + 0.11f * b2;
    float vivid = 1.2f;
    r2 = clamp(light + (r2 - light) * vivid, 0.0f, 1.0f);
    g2 = clamp(light + (g2 - light) * vivid, 0.0f, 1.0f);
    b2 = clamp(light + (b2 - light) * vivid, 0.0f, 1.0f);
    out[y * w + x] = (uchar4)((uchar)(r2 * 255.0f + 0.5f), (uchar)(g2 * 255.0f + 0.5f), (uchar)(b2 * 255.0f + 0.5f), p.w);
}
