// on: Mali-T760, Mali-G76, Mali-G77, Mali-G715, Adreno 640

// How far a pixel is from the nearest of sixteen tones, in a column smoothed by 1 2 1.
kernel void slow(global const uchar *in, global uchar *out, int width)
{
    const int at = 8 * get_global_id(0);
    const int8 above = convert_int8(vload8(0, in + at));
    const int8 here = convert_int8(vload8(0, in + at + width));
    const int8 below = convert_int8(vload8(0, in + at + 2 * width));
    const int8 tone = (above + 2 * here + below) >> 2; // here
    int8 nearest = 255;
    for (int other = 8; other < 256; other += 16)
        nearest = min(nearest, convert_int8(abs(tone - other)));
    vstore8(convert_uchar8(nearest), 0, out + at);
}

kernel void quick(global const uchar *in, global uchar *out, int width)
{
    const int at = 8 * get_global_id(0);
    const short8 above = convert_short8(vload8(0, in + at));
    const short8 here = convert_short8(vload8(0, in + at + width));
    const short8 below = convert_short8(vload8(0, in + at + 2 * width));
    const short8 tone = (above + (short)2 * here + below) >> (short)2;
    short8 nearest = 255;
    for (short other = 8; other < 256; other += 16)
        nearest = min(nearest, convert_short8(abs(tone - other)));
    vstore8(convert_uchar8(nearest), 0, out + at);
}

// Squares of 255 need 16 bits without a sign, and nothing here is negative.
kernel void slow_square(global const uchar *in, global uchar *out, int width)
{
    const int at = 8 * get_global_id(0);
    const uint8 a = convert_uint8(vload8(0, in + at));
    const uint8 b = convert_uint8(vload8(0, in + at + width));
    const uint8 product = max(a * b, max(a * a, b * b)); // here
    uint8 dither = 0;
    for (uint bit = 0; bit < 16; ++bit)
        dither = max(dither, (product >> bit) & 129);
    vstore8(convert_uchar8(dither), 0, out + at);
}

kernel void quick_square(global const uchar *in, global uchar *out, int width)
{
    const int at = 8 * get_global_id(0);
    const ushort8 a = convert_ushort8(vload8(0, in + at));
    const ushort8 b = convert_ushort8(vload8(0, in + at + width));
    const ushort8 product = max(a * b, max(a * a, b * b));
    ushort8 dither = 0;
    for (ushort bit = 0; bit < 16; ++bit)
        dither = max(dither, (product >> bit) & (ushort)129);
    vstore8(convert_uchar8(dither), 0, out + at);
}

// The same sums of numbers that nobody bounds.
kernel void quick_unknown(global const int *in, global int *out, int width)
{
    const int at = 8 * get_global_id(0);
    const int8 above = vload8(0, in + at), here = vload8(0, in + at + width), below = vload8(0, in + at + 2 * width);
    vstore8((above + 2 * here + below) >> 2, 0, out + at);
}

// A sum over rows that nobody counts outgrows 16 bits.
kernel void quick_sum(global const uchar *in, global int *out, int width, int rows)
{
    const int at = 8 * get_global_id(0);
    int8 sum = 0;
    for (int row = 0; row < rows; ++row)
        sum += convert_int8(vload8(0, in + at + row * width));
    vstore8(sum, 0, out + at);
}

// Products of 16-bit numbers need 32 bits, and what comes of them is kept.
kernel void quick_products(global const short *in, global int *out, int width)
{
    const int at = 8 * get_global_id(0);
    const int8 a = convert_int8(vload8(0, in + at)), b = convert_int8(vload8(0, in + at + width));
    vstore8(a * b, 0, out + at);
}
