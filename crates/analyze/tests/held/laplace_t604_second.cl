// The six steps of the published Laplace ladder once more, each written from its description as another author would:
// rows and taps in loops and macros, the centre apart from its neighbours, minimum and maximum for the clamp.

#define ROW get_global_id(0)
#define COLUMN get_global_id(1)

kernel void scalar(global const unsigned char *restrict in, global unsigned char *restrict out, const int w, const int h)
{
    const size_t row = ROW, column = COLUMN;
    if (row >= 1 && row < h - 1 && column >= 1 && column < w - 1) {
        for (int channel = 0; channel < 3; channel++) {
            int neighbours = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (dx != 0 || dy != 0)
                        neighbours += in[((row + dy) * w + column + dx) * 3 + channel];
            const size_t centre = (row * w + column) * 3 + channel;
            int value = in[centre] * 9 - neighbours;
            value = value < 0 ? 0 : value;
            value = value > 255 ? 255 : value;
            out[centre] = (unsigned char)value;
        }
    }
}

// Fifteen bytes, widest pieces first.
#define STORE_15(bytes, to)                                                                                            \
    do {                                                                                                               \
        vstore8((bytes).s01234567, 0, (to));                                                                           \
        vstore4((bytes).s89ab, 2, (to));                                                                               \
        vstore2((bytes).scd, 6, (to));                                                                                 \
        *((to) + 14) = (bytes).se;                                                                                     \
    } while (0)

#define LIMIT(type, sum) max(min(sum, (type)255), (type)0)

kernel void vectorise(global const uchar *restrict in, global uchar *restrict out, const int w)
{
    const int first = (ROW + 1) * w * 3 + COLUMN * 15;
    int16 neighbours = (int16)0, centre;
    for (int dy = -1; dy <= 1; dy++) {
        global const uchar *row = in + first + dy * w * 3;
        for (int tap = 0; tap < 3; tap++) {
            const int16 wide = convert_int16(vload16(0, row + 3 * tap));
            if (dy == 0 && tap == 1)
                centre = wide;
            else
                neighbours += wide;
        }
    }
    const uchar16 bytes = convert_uchar16(LIMIT(int16, centre * 9 - neighbours));
    global uchar *to = out + first + 3;
    STORE_15(bytes, to);
}

// Left, middle and right of a row; the middle comes from the other two.
#define LOAD_ROW(from)                                                                                                 \
    left = vload16(0, (from));                                                                                         \
    right = vload16(0, (from) + 6);                                                                                    \
    middle.s01234567 = left.s3456789a;                                                                                 \
    middle.s89ab = left.sbcde;                                                                                         \
    middle.sc = left.sf;                                                                                               \
    middle.sdef = right.sabc;

kernel void synthesise_loads(global const uchar *restrict in, global uchar *restrict out, const int w)
{
    const int first = (ROW + 1) * w * 3 + COLUMN * 15;
    uchar16 left, middle, right;
    LOAD_ROW(in + first - 3 * w)
    int16 neighbours = convert_int16(left) + convert_int16(middle) + convert_int16(right);
    LOAD_ROW(in + first + 3 * w)
    neighbours += convert_int16(left) + convert_int16(middle) + convert_int16(right);
    LOAD_ROW(in + first)
    neighbours += convert_int16(left) + convert_int16(right);
    const uchar16 bytes = convert_uchar16(LIMIT(int16, convert_int16(middle) * 9 - neighbours));
    global uchar *to = out + first + 3;
    STORE_15(bytes, to);
}

#define SHORTS(from, bytes)                                                                                            \
    uchar16 left, middle, right;                                                                                       \
    LOAD_ROW((from) - 3 * w)                                                                                           \
    short16 neighbours = convert_short16(left) + convert_short16(middle) + convert_short16(right);                     \
    LOAD_ROW((from) + 3 * w)                                                                                           \
    neighbours += convert_short16(left) + convert_short16(middle) + convert_short16(right);                            \
    LOAD_ROW(from)                                                                                                     \
    neighbours += convert_short16(left) + convert_short16(right);                                                      \
    const uchar16 bytes = convert_uchar16(LIMIT(short16, convert_short16(middle) * (short16)9 - neighbours));

kernel void short_arithmetic(global const uchar *restrict in, global uchar *restrict out, const int w)
{
    const int first = (ROW + 1) * w * 3 + COLUMN * 15;
    SHORTS(in + first, bytes)
    global uchar *to = out + first + 3;
    STORE_15(bytes, to);
}

kernel void four_pixels(global const uchar *restrict in, global uchar *restrict out, const int w)
{
    const int first = (ROW + 1) * w * 3 + COLUMN * 12;
    SHORTS(in + first, bytes)
    global uchar *to = out + first + 3;
    vstore8(bytes.lo, 0, to);
    vstore4(bytes.s89ab, 2, to);
}

// A row of eight pixels with its neighbours: bytes 0 to 15 and 16 to 31, the latter two more than are needed.
typedef struct {
    short16 low;
    short8 high;
} Wide;

static Wide taps(uchar16 a, uchar16 b, bool centre)
{
    Wide sum;
    sum.low = convert_short16(a) + convert_short16((uchar16)(a.s6789, a.sabcd, a.sef, b.s0123, b.s45));
    sum.high = convert_short8(b.s01234567) + convert_short8(b.s6789abcd);
    const short16 low = convert_short16((uchar16)(a.s3456, a.s789a, a.sbcde, a.sf, b.s012));
    const short8 high = convert_short8(b.s3456789a);
    if (centre) {
        sum.low = low * (short)9 - sum.low;
        sum.high = high * (short)9 - sum.high;
    } else {
        sum.low += low;
        sum.high += high;
    }
    return sum;
}

kernel void eight_pixels(global const uchar *restrict in, global uchar *restrict out, const int w)
{
    const int first = (ROW + 1) * w * 3 + COLUMN * 24;
    Wide sum = {0, 0};
    for (int dy = 0; dy < 3; dy++) {
        global const uchar *from = in + first + (dy == 0 ? 0 : dy == 1 ? -3 * w : 3 * w);
        const Wide row = taps(vload16(0, from), vload16(1, from), dy == 0);
        sum.low = dy == 0 ? row.low : sum.low - row.low;
        sum.high = dy == 0 ? row.high : sum.high - row.high;
    }
    global uchar *to = out + first + 3;
    vstore16(convert_uchar16(LIMIT(short16, sum.low)), 0, to);
    vstore8(convert_uchar8(LIMIT(short8, sum.high)), 2, to);
}
