// Weighted sums of bytes, two 16-bit sums to a register.
//
// Four bytes are loaded as one word, which a mask takes apart: bytes 0 and 2 become the lanes of one register, 1 and 3 those of
// another. Nothing is widened byte by byte, and as long as no lane leaves 16 bits, one 32-bit addition adds two sums and one
// multiplication by a weight multiplies two: GPUs whose lanes are 32 bits wide do both for the price of one.
//
// So a row is two streams of lanes, that of even bytes and that of odd ones. The neighbour d bytes away is in the same stream if d is
// even and in the other if it is odd; whole words away it is another register, half a word away half of each of two.
//
// Lanes have no sign. A sum below 0 borrows from the lane above, which does no harm: the register as a number still is what its lanes
// add up to. Only in the end must each lane be in 0 .. 65535: SEED is added so that they are.
//
// A work-item computes LANES bytes of ROWS rows: a block, whose windows lie inside the row. The bytes left of the first block and right
// of the last have work-items of their own, one for each byte of ROWS rows, behind those of the blocks: they fold places outside
// back into the image. A block that had to look where it is would keep its neighbours in the warp waiting. Rows are folded by all.

// Bytes of a row and rows a work-item computes; LANES is 4, 8 or 16.
#ifndef LANES
#define LANES 16
#define ROWS 4
#endif

// Whether the rows of the source, and those of the result, lie at multiples of LANES bytes and are moved as words. Otherwise they
// are moved as vectors of bytes, which may lie anywhere.
#ifndef ALIGNED
#define ALIGNED 0
#define ALIGNED_TO 0
#endif
// Whether blocks are read from an image over the source instead, whose texels are four bytes, each in a register of its own.
#ifndef IMAGE
#define IMAGE 0
#endif

// The window. Row dy of it is DOWN[dy] times row KIND[dy] of ACROSS, and the centre has PEAK more. Rows that are multiples of each other
// share a kind, so an outer product has one, and so has Laplace's window but for its peak. Lists are written W(1)W(-2)W(1).
#define W(number) number,
#ifndef WIDTH
#define WIDTH 3
#define HEIGHT 3
#define KINDS 1
#define ACROSS W(1)W(1)W(1)
#define KIND W(0)W(0)W(0)
#define DOWN W(-1)W(-1)W(-1)
#define PEAK 10
#endif

// A result is (SEED + sum) >> SHIFT, less ZERO. Whether any is outside 0 .. 255; then all are in -0x4000 .. 0x8000, and without
// a shift ZERO is best 0x4000.
#ifndef SEED
#define SEED 0x4000
#define SHIFT 0
#define ZERO 0x4000
#define CLAMPED 1
#endif

// Bytes from a pixel to its neighbour; whether every fourth is alpha, which is copied.
#ifndef STEP
#define STEP 3
#define KEEP_ALPHA 0
#endif

// What lies outside the image.
#define NONE 0 // nothing: where a window leaves the image, the pixel is copied
#define CONSTANT 1
#define REPLICATE 2
#define REFLECT 3
#define REFLECT_101 4
#define WRAP 5
#ifndef BORDER
#define BORDER NONE
#define OUTSIDE 0
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define UNROLL _Pragma("unroll")

#define RADIUS_X (WIDTH / 2)
#define RADIUS_Y (HEIGHT / 2)
#define ROWS_IN (ROWS + HEIGHT - 1)
// Words of a block, words that it sees on each side, and all of them.
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

// What a block sees of a row, in words; its own start at SIDE. Of texels the even bytes and the odd ones, as lanes.
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

// The place in 0 .. extent - 1 that stands for `place`, which is outside; -1 where only a constant does.
static int fold_outside(int place, const int extent)
{
#if BORDER == CONSTANT
    return -1;
#elif BORDER == REFLECT
    place %= 2 * extent;
    place = place < 0 ? place + 2 * extent : place;
    return min(place, 2 * extent - 1 - place);
#elif BORDER == REFLECT_101
    const int period = max(2 * extent - 2, 1);
    place %= period;
    place = place < 0 ? place + period : place;
    return min(place, period - place);
#elif BORDER == WRAP
    place %= extent;
    return place < 0 ? place + extent : place;
#else
    return clamp(place, 0, extent - 1);
#endif
}

static int fold(const int place, const int extent)
{
    return (uint)place < (uint)extent ? place : fold_outside(place, extent);
}

// What the block at byte x sees of a row; -1 stands for one outside.
static Row load_row(SOURCE, const int x, const int y)
{
    Row row;
#if IMAGE
    UNROLL
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
        UNROLL
        for (int i = 0; i < WORDS_IN; ++i)
            row.word[i] = OUTSIDE * 0x01010101u;
        return row;
    }
#endif
    source += from_pitch * y + x;
    Words own;
    own.block = LOAD_BLOCK(source);
    UNROLL
    for (int i = 0; i < WORDS; ++i)
        row.word[SIDE + i] = own.word[i];
    UNROLL
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

// The lanes of bytes `at` and `at` + 2 of what a block sees; `at` is known at compile time.
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
    UNROLL
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
    // All four at once: where a result is 0 .. 255, the high byte of its lane is now 0x40; below it is less, above it is more. Not every
    // compiler has a smaller and a larger of two lanes.
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

// The block at byte x of ROWS rows, from row y on.
static void filter_block(SOURCE, global uchar *result, const uint to_pitch, const int x, const int y, const int height)
{
    int places[ROWS_IN];
    UNROLL
    for (int j = 0; j < ROWS_IN; ++j)
        places[j] = y + j - RADIUS_Y;
    // Once for all rows: few blocks see one outside.
    if (y < RADIUS_Y || y + ROWS > height - RADIUS_Y) {
        UNROLL
        for (int j = 0; j < ROWS_IN; ++j)
            places[j] = fold(places[j], height);
    }
    Row rows[ROWS_IN];
    UNROLL
    for (int j = 0; j < ROWS_IN; ++j)
        rows[j] = load_row(SAME_SOURCE, x, places[j]);
    uint parts[ROWS_IN][KINDS][WORDS][2];
    UNROLL
    for (int j = 0; j < ROWS_IN; ++j) {
        UNROLL
        for (int kind = 0; kind < KINDS; ++kind) {
            UNROLL
            for (int i = 0; i < WORDS; ++i) {
                UNROLL
                for (int stream = 0; stream < 2; ++stream)
                    parts[j][kind][i][stream] = row_sum(rows[j], kind, 4 * (SIDE + i) + stream);
            }
        }
        // The last row of a window makes a row of results.
        const int r = j - (HEIGHT - 1);
        if (r < 0)
            continue;
        Words value, centre;
        UNROLL
        for (int i = 0; i < WORDS; ++i) {
            centre.word[i] = word_of(rows[r + RADIUS_Y], SIDE + i);
            uint sum[2];
            UNROLL
            for (int stream = 0; stream < 2; ++stream) {
                sum[stream] = BOTH(SEED) + PEAK * lanes_of(rows[r + RADIUS_Y], SIDE + i, stream);
                UNROLL
                for (int dy = 0; dy < HEIGHT; ++dy)
                    sum[stream] += down[dy] * parts[r + dy][kind_of[dy]][i][stream];
            }
            value.word[i] = finished(sum[0], sum[1]);
        }
#if BORDER == NONE
        if (y + r < RADIUS_Y || y + r >= height - RADIUS_Y)
            value = centre;
#endif
#if KEEP_ALPHA
        UNROLL
        for (int i = 0; i < WORDS; ++i)
            value.word[i] = bitselect(value.word[i], centre.word[i], 0xff000000u);
#endif
        if (y + r < height)
            STORE_BLOCK(value.block, result + to_pitch * (y + r) + x);
    }
}

// Byte x, wherever it is, of ROWS rows, from row y on.
static void filter_byte(global const uchar *source, global uchar *result, const uint from_pitch, const uint to_pitch, const int x,
                        const int y, const int width, const int height)
{
    const int pixel = x / STEP, channel = x % STEP;
    int columns[WIDTH];
    UNROLL
    for (int column = 0; column < WIDTH; ++column)
        columns[column] = fold(pixel + column - RADIUS_X, width);
    // All are loaded before the first is used: there are too few of these work-items to hide one load behind another.
    uint seen[ROWS_IN][WIDTH];
    UNROLL
    for (int j = 0; j < ROWS_IN; ++j) {
        const int row = fold(y + j - RADIUS_Y, height);
        UNROLL
        for (int column = 0; column < WIDTH; ++column) {
#if BORDER == CONSTANT
            if (row < 0 || columns[column] < 0) {
                seen[j][column] = OUTSIDE;
                continue;
            }
#endif
            seen[j][column] = source[from_pitch * row + columns[column] * STEP + channel];
        }
    }
    bool copied = false;
#if BORDER == NONE
    copied = pixel < RADIUS_X || pixel >= width - RADIUS_X;
#endif
#if KEEP_ALPHA
    copied = copied || channel == 3;
#endif
    UNROLL
    for (int r = 0; r < ROWS; ++r) {
        const uint centre = seen[r + RADIUS_Y][RADIUS_X];
        uint sum = SEED + PEAK * centre;
        UNROLL
        for (int dy = 0; dy < HEIGHT; ++dy) {
            UNROLL
            for (int column = 0; column < WIDTH; ++column)
                sum += down[dy] * across[kind_of[dy] * WIDTH + column] * seen[r + dy][column];
        }
        uint value = clamp((int)(sum >> SHIFT) - ZERO, 0, 255);
        if (copied)
            value = centre;
#if BORDER == NONE
        if (y + r < RADIUS_Y || y + r >= height - RADIUS_Y)
            value = centre;
#endif
        if (y + r < height)
            result[to_pitch * (y + r) + x] = value;
    }
}

#if IMAGE
#define IMAGE_PARAMETERS , read_only image2d_t texels, const int first_texel, const int first_row, const int plane_rows
#else
#define IMAGE_PARAMETERS
#endif

// Dimension 0 runs along the row: its blocks, then the bytes beside them, left ones first; 1 runs down the image, ROWS at a time; 2
// over planes. Sizes are rounded up to whole work-groups. Pitches and offsets are in bytes. The two buffers do not overlap. The image's texel
// and row of the first byte, and rows of it from plane to plane, are worked out ahead.
kernel void filter_pairs(global const uchar *restrict source, global uchar *restrict result, const uint from_offset,
                         const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                         const uint to_plane, const int width, const int height IMAGE_PARAMETERS)
{
    const int at = get_global_id(0), y = get_global_id(1) * ROWS, bytes = width * STEP;
    const uint plane = get_global_id(2);
    const int blocks = max((bytes - AHEAD - 4 * SIDE) / LANES, 0), beside = bytes - blocks * LANES;
    if (at >= blocks + beside || y >= height)
        return;
    source += from_offset + plane * from_plane;
    result += to_offset + plane * to_plane;
#if IMAGE
    const int2 origin = (int2)(first_texel, first_row + (int)plane * plane_rows);
#endif
    if (at < blocks) {
        filter_block(SAME_SOURCE, result, to_pitch, AHEAD + at * LANES, y, height);
    } else {
        const int x = at - blocks, skipped = x < AHEAD ? 0 : blocks * LANES;
        filter_byte(source, result, from_pitch, to_pitch, x + skipped, y, width, height);
    }
}
