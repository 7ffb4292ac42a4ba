typedef unsigned char u8;
kernel void to_gray(global const u8 *rgb, global u8 *gray, int pixels)
{
    size_t i = get_global_id(0);
    if (i >= pixels) return;
    u8 r = rgb[i * 3 + 0];
    u8 g = rgb[i * 3 + 1];
    u8 b = rgb[i * 3 + 2];
    gray[i] = (u8)((77 * r + 150 * g + 29 * b) >> 8);
}
