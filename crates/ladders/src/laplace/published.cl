// The six steps of the published Laplace ladder on a Mali-T604 (docs/model.md), rewritten from their description: packed
// 24-bit RGB, weights -1 around +9, dimension 0 walks down the image, and the rim is left to the host, so that what is
// counted is the filter itself. Only `scalar` has the published test for the border.

kernel void scalar(global const uchar *source, global uchar *result, int width, int height)
{
    const int y = get_global_id(0), x = get_global_id(1);
    if (x < 1 || y < 1 || x > width - 2 || y > height - 2)
        return;
    const int pitch = 3 * width, at = y * pitch + 3 * x;
    int sum[3];
    for (int c = 0; c < 3; ++c) {
        const int i = at + c;
        sum[c] = 9 * source[i] - source[i - 3] - source[i + 3];
        sum[c] -= source[i - pitch - 3] + source[i - pitch] + source[i - pitch + 3];
        sum[c] -= source[i + pitch - 3] + source[i + pitch] + source[i + pitch + 3];
    }
    for (int c = 0; c < 3; ++c)
        result[at + c] = clamp(sum[c], 0, 255);
}

static void store15(uchar16 v, global uchar *to)
{
    vstore8(v.lo, 0, to);
    vstore4(v.s89ab, 0, to + 8);
    vstore2(v.scd, 0, to + 12);
    to[14] = v.se;
}

kernel void vectorise(global const uchar *source, global uchar *result, int width)
{
    const int pitch = 3 * width, at = (int)(get_global_id(0) + 1) * pitch + 15 * (int)get_global_id(1) + 3;
    global const uchar *here = source + at, *above = here - pitch, *below = here + pitch;
    int16 sum = 9 * convert_int16(vload16(0, here));
    sum -= convert_int16(vload16(0, here - 3));
    sum -= convert_int16(vload16(0, here + 3));
    sum -= convert_int16(vload16(0, above - 3));
    sum -= convert_int16(vload16(0, above));
    sum -= convert_int16(vload16(0, above + 3));
    sum -= convert_int16(vload16(0, below - 3));
    sum -= convert_int16(vload16(0, below));
    sum -= convert_int16(vload16(0, below + 3));
    store15(convert_uchar16(clamp(sum, 0, 255)), result + at);
}

// The vector between two that start 6 bytes apart.
static uchar16 between(uchar16 left, uchar16 right)
{
    return (uchar16)(left.s3456789a, left.sbcde, left.sf, right.sabc);
}

kernel void synthesise_loads(global const uchar *source, global uchar *result, int width)
{
    const int pitch = 3 * width, at = (int)(get_global_id(0) + 1) * pitch + 15 * (int)get_global_id(1) + 3;
    global const uchar *here = source + at, *above = here - pitch, *below = here + pitch;
    uchar16 left = vload16(0, here - 3), right = vload16(0, here + 3);
    int16 sum = 9 * convert_int16(between(left, right));
    sum -= convert_int16(left);
    sum -= convert_int16(right);
    left = vload16(0, above - 3), right = vload16(0, above + 3);
    sum -= convert_int16(left);
    sum -= convert_int16(between(left, right));
    sum -= convert_int16(right);
    left = vload16(0, below - 3), right = vload16(0, below + 3);
    sum -= convert_int16(left);
    sum -= convert_int16(between(left, right));
    sum -= convert_int16(right);
    store15(convert_uchar16(clamp(sum, 0, 255)), result + at);
}

static uchar16 sharpen(global const uchar *here, int pitch)
{
    global const uchar *above = here - pitch, *below = here + pitch;
    uchar16 left = vload16(0, here - 3), right = vload16(0, here + 3);
    short16 sum = (short)9 * convert_short16(between(left, right));
    sum -= convert_short16(left);
    sum -= convert_short16(right);
    left = vload16(0, above - 3), right = vload16(0, above + 3);
    sum -= convert_short16(left);
    sum -= convert_short16(between(left, right));
    sum -= convert_short16(right);
    left = vload16(0, below - 3), right = vload16(0, below + 3);
    sum -= convert_short16(left);
    sum -= convert_short16(between(left, right));
    sum -= convert_short16(right);
    return convert_uchar16(clamp(sum, (short)0, (short)255));
}

kernel void short_arithmetic(global const uchar *source, global uchar *result, int width)
{
    const int pitch = 3 * width, at = (int)(get_global_id(0) + 1) * pitch + 15 * (int)get_global_id(1) + 3;
    store15(sharpen(source + at, pitch), result + at);
}

kernel void four_pixels(global const uchar *source, global uchar *result, int width)
{
    const int pitch = 3 * width, at = (int)(get_global_id(0) + 1) * pitch + 12 * (int)get_global_id(1) + 3;
    const uchar16 v = sharpen(source + at, pitch);
    vstore8(v.lo, 0, result + at);
    vstore4(v.s89ab, 0, result + at + 8);
}

// 24 bytes of a row and their neighbours out of two loads: `a` holds the bytes from -3 on, `b` those from 11 on.
static void row(global const uchar *at, short centre, short16 *sum, short8 *more)
{
    const uchar16 a = vload16(0, at - 3), b = vload16(0, at + 11);
    *sum -= convert_short16(a) + convert_short16((uchar16)(a.s6789abcd, a.sef, b.s2345, b.s67));
    *sum -= centre * convert_short16((uchar16)(a.s3456789a, a.sbcde, a.sf, b.s234));
    *more -= convert_short8(b.s23456789) + convert_short8(b.s89abcdef);
    *more -= centre * convert_short8(b.s56789abc);
}

kernel void eight_pixels(global const uchar *source, global uchar *result, int width)
{
    const int pitch = 3 * width, at = (int)(get_global_id(0) + 1) * pitch + 24 * (int)get_global_id(1) + 3;
    global const uchar *here = source + at;
    short16 sum = 0;
    short8 more = 0;
    row(here, -9, &sum, &more);
    row(here - pitch, 1, &sum, &more);
    row(here + pitch, 1, &sum, &more);
    vstore16(convert_uchar16(clamp(sum, (short)0, (short)255)), 0, result + at);
    vstore8(convert_uchar8(clamp(more, (short)0, (short)255)), 0, result + at + 16);
}
