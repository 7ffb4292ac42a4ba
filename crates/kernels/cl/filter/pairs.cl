// Weighted sums of bytes, two 16-bit sums to a 32-bit register.
//
// Four bytes are loaded as one word, and a mask splits it: bytes 0 and 2 become the lanes of one register, bytes 1
// and 3 those of another. No byte is widened alone, and as long as no lane exceeds 16 bits, one 32-bit addition adds
// two sums and one multiplication by a weight multiplies two. GPUs with 32-bit lanes do both for the price of one.
//
// So a row is two streams of lanes, that of the even bytes and that of the odd ones. The neighbour d bytes away is in
// the same stream if d is even, and in the other if it is odd; whole words away it is another register, half a word
// away half of each of two.
//
// Lanes have no sign. A sum below 0 borrows from the lane above, which is harmless: the register as a number still is
// the sum of its lanes. Only the final sums must be in 0 .. 65535; SEED is added to ensure that.
//
// A work-item computes LANES bytes of ROWS rows: a block, whose windows are inside the row. The bytes left of the
// first block and right of the last have work-items of their own behind those of the blocks, one for each byte of
// ROWS rows: they fold positions outside back into the image. A block that tested its position would make its
// neighbours in the warp wait. Rows are folded by all.
//
// LANES:      bytes of a row that a work-item computes: 4, 8 or 16.
// ALIGNED, ALIGNED_TO: 1 when the rows of the source, and those of the result, are at multiples of LANES bytes and
//                      are moved as words. Otherwise they are moved as vectors of bytes, at any address.
// IMAGE:      1 reads blocks from an image over the source, whose texels are four bytes, each in a register of its own.
// PEAK:       what the weight of the centre exceeds the window's rows by. A result is (SEED + sum) >> SHIFT, less
//             ZERO. CLAMPED: 1 when a result can be outside 0 .. 255; then all are in -0x4000 .. 0x8000, and without
//             a shift ZERO is best 0x4000.

#ifndef LANES
#define LANES 16
#endif
#ifndef ALIGNED
#define ALIGNED 0
#define ALIGNED_TO 0
#endif
#ifndef IMAGE
#define IMAGE 0
#endif

#ifndef PEAK
#define PEAK 0
#endif
#ifndef SEED
#define SEED 8
#define SHIFT 4
#define ZERO 0
#define CLAMPED 0
#endif

// Words of a block, words that its windows need on each side, and all of them.
#define WORDS (LANES / 4)
#define SIDE ((RADIUS_X * STEP + 3) / 4)
#define WORDS_IN (WORDS + 2 * SIDE)
// Bytes left of the first block.
#define AHEAD ((4 * SIDE + LANES - 1) / LANES * LANES)

// The same number in both lanes.
#define BOTH(number) ((uint)(number) * 0x00010001u)

#if LANES == 16
typedef uint4 Block;
#define as_Block as_uint4
#elif LANES == 8
typedef uint2 Block;
#define as_Block as_uint2
#else
typedef uint Block;
#define as_Block as_uint
#endif

#if ALIGNED
#define LOAD_WORD(at) (*(global const uint *)(at))
#define LOAD_BLOCK(at) (*(global const Block *)(at))
#else
#define LOAD_WORD(at) as_uint(vload4(0, at))
#define LOAD_BLOCK(at) as_Block(JOIN(vload, LANES)(0, at))
#endif
#if ALIGNED_TO
#define STORE_BLOCK(value, at) *(global Block *)(at) = value
#else
#define STORE_BLOCK(value, at) JOIN(vstore, LANES)(JOIN(as_uchar, LANES)(value), 0, at)
#endif

// The source: the image, and the texel and row of its first byte; the buffer.
#if IMAGE
#define SOURCE read_only image2d_t texels, const int2 origin
#define SAME_SOURCE texels, origin
#else
#define SOURCE global const uchar *source, const uint from_pitch
#define SAME_SOURCE source, from_pitch
#endif

// A block's bytes of a row.
typedef union {
    Block block;
    uint word[WORDS];
} Words;

// The words of a row that a block needs; its own start at SIDE. Of texels, the even bytes and the odd ones as lanes.
typedef struct {
#if IMAGE
    uint lanes[WORDS_IN][2];
#else
    uint word[WORDS_IN];
#endif
} Row;

constant uint across[] = { ACROSS };
constant uchar kind_of[] = { KIND };
constant uint down[] = { DOWN };

// The words of row y that the block at byte x needs; y is -1 for the constant outside.
static Row load_row(SOURCE, const int x, const int y)
{
    Row row;
#if IMAGE
    UNROLL_LOOP
    for (int i = 0; i < WORDS_IN; ++i) {
        uint4 texel = OUTSIDE;
        if (BORDER != CONSTANT || y >= 0)
            texel = read_imageui(texels, origin + (int2)(x / 4 - SIDE + i, y));
        row.lanes[i][0] = texel.s0 | texel.s2 << 16;
        row.lanes[i][1] = texel.s1 | texel.s3 << 16;
    }
#else
#if BORDER == CONSTANT
    if (y < 0) {
        UNROLL_LOOP
        for (int i = 0; i < WORDS_IN; ++i)
            row.word[i] = OUTSIDE * 0x01010101u;
        return row;
    }
#endif
    source += from_pitch * y + x;
    Words own;
    own.block = LOAD_BLOCK(source);
    UNROLL_LOOP
    for (int i = 0; i < WORDS; ++i)
        row.word[SIDE + i] = own.word[i];
    UNROLL_LOOP
    for (int i = 0; i < SIDE; ++i) {
        row.word[i] = LOAD_WORD(source + 4 * (i - SIDE));
        row.word[SIDE + WORDS + i] = LOAD_WORD(source + LANES + 4 * i);
    }
#endif
    return row;
}

// The even bytes of a word of a row (`stream` 0), or the odd ones (1), as lanes.
static uint lanes_of(const Row row, const int word, const int stream)
{
#if IMAGE
    return row.lanes[word][stream];
#else
    return row.word[word] >> 8 * stream & BOTH(255);
#endif
}

static uint word_of(const Row row, const int word)
{
#if IMAGE
    return row.lanes[word][0] | row.lanes[word][1] << 8;
#else
    return row.word[word];
#endif
}

// The lanes of bytes `at` and `at` + 2 of the loaded words; `at` is known at compile time.
static uint pair(const Row row, const int at)
{
    const int word = at / 4, stream = at % 2;
    const uint low = lanes_of(row, word, stream);
    return at % 4 < 2 ? low : low >> 16 | lanes_of(row, min(word + 1, WORDS_IN - 1), stream) << 16;
}

// One kind of the window's rows over a row of the image: the sums of bytes `at` and `at` + 2.
static uint row_sum(const Row row, const int kind, const int at)
{
    uint sum = 0;
    UNROLL_LOOP
    for (int column = 0; column < WIDTH; ++column)
        sum += across[kind * WIDTH + column] * pair(row, at + (column - RADIUS_X) * STEP);
    return sum;
}

// Four results as a word, of the sums of its even bytes and its odd ones.
static uint finished(uint even, uint odd)
{
#if SHIFT > 0
    even = even >> SHIFT & BOTH(0xffff >> SHIFT);
    odd = odd >> SHIFT & BOTH(0xffff >> SHIFT);
#endif
#if CLAMPED
    // All four at once: for a result in 0 .. 255 the high byte of its lane is now 0x40; for one below it is less, for
    // one above it is more. Not every compiler has min and max of two lanes.
    even += BOTH(0x4000 - ZERO);
    odd += BOTH(0x4000 - ZERO);
    const uint low = (even & BOTH(255)) | (odd & BOTH(255)) << 8;
    const uint high = (even >> 8 & BOTH(255)) | (odd & BOTH(0xff00));
    const uint above = ((high + 0x3f3f3f3f) >> 7 & 0x01010101) * 255;
    const uint not_below = (high >> 6 & 0x01010101) * 255;
    return (low & not_below) | above;
#else
    return (even - BOTH(ZERO)) | (odd - BOTH(ZERO)) << 8;
#endif
}
