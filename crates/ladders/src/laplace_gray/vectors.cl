// Sixteen pixels of gray in one vector: the sum of nine vectors, which are loaded or assembled in registers.

// Sixteen pixels around `here`, nine loads of 16 bytes.
//
// Vectors are not promoted as scalars are: uchar16 * 9 keeps the low 8 bits of each product, and 9 * 100 becomes
// 132. So each vector is widened ahead of the arithmetic. short holds all there can be, -8 * 255 = -2040 to
// 9 * 255 = 2295, in half the room of int.
static uchar16 sharpen_loaded(global const uchar *here, const uint pitch)
{
    global const uchar *above = here - pitch, *below = here + pitch;
    short16 sum = (short)9 * convert_short16(vload16(0, here));
    sum -= convert_short16(vload16(0, here - 1)) + convert_short16(vload16(0, here + 1));
    sum -= convert_short16(vload16(0, above - 1)) + convert_short16(vload16(0, above));
    sum -= convert_short16(vload16(0, above + 1)) + convert_short16(vload16(0, below - 1));
    sum -= convert_short16(vload16(0, below)) + convert_short16(vload16(0, below + 1));
    return convert_uchar16_sat(sum);
}

// The vector between one that starts a byte before it and one that starts a byte after it.
static uchar16 between(const uchar16 left, const uchar16 right)
{
    return (uchar16)(left.s12345678, left.s9abc, left.sde, left.sf, right.se);
}

// Sixteen pixels around `here`, six loads of 16 bytes: the middle vector of each row is put together.
static uchar16 sharpen_synthesised(global const uchar *here, const uint pitch)
{
    global const uchar *above = here - pitch, *below = here + pitch;
    uchar16 left = vload16(0, here - 1), right = vload16(0, here + 1);
    short16 sum = (short)9 * convert_short16(between(left, right)) - convert_short16(left) - convert_short16(right);
    left = vload16(0, above - 1), right = vload16(0, above + 1);
    sum -= convert_short16(left) + convert_short16(between(left, right)) + convert_short16(right);
    left = vload16(0, below - 1), right = vload16(0, below + 1);
    sum -= convert_short16(left) + convert_short16(between(left, right)) + convert_short16(right);
    return convert_uchar16_sat(sum);
}
