// How gemm_tile reads its operands: the rows of A at a step along K become a_0, a_1 ..., the columns of B the vectors
// b_0, b_1 ...
//
// Where an operand is stored decides which unit fetches it: buffers go through load/store, images through the texture
// unit and its own cache. On Mali both units work side by side, so one operand in an image takes load off the other; on
// Adreno images are cached in the first level and buffers are not.
//
// A_FROM, B_FROM: PACKED in panels (packing.cl); IMAGE: the same in an image; or in the stored layout: ACROSS is
//                 contiguous across the tile, along the rows of C for A and along its columns for B; ALONG is
//                 contiguous along K.
// A_ALIGNED, B_ALIGNED: 1 when vectors of a direct operand, of UNROLL steps of A and of VECTOR columns of B, are
//            aligned to their size. Loads that may be unaligned are split into elements by some compilers.
// B_WHOLE:   1 when no vector of columns reaches over the edge. A vector outside is the last one again: without a
//            branch at each load, the loads of several steps are in flight at once.
// A_VECTOR:  1 loads the rows of a packed A as a vector of 2, 4, 8 or 16; 0 loads them one by one, which a CPU does
//            with loads that broadcast.

#define PACKED 0
#define IMAGE 1
#define ACROSS 2
#define ALONG 3
#ifndef A_FROM
#define A_FROM ALONG
#endif
#ifndef B_FROM
#define B_FROM ACROSS
#endif
#ifndef A_VECTOR
#define A_VECTOR 0
#endif
#ifndef A_ALIGNED
#define A_ALIGNED 0
#endif
#ifndef B_ALIGNED
#define B_ALIGNED 0
#endif
#ifndef B_WHOLE
#define B_WHOLE 0
#endif
#if ELEMENTS == HALVES || ELEMENTS == HALVES_CHUNKED
#define READ_IMAGE read_imageh
#else
#define READ_IMAGE read_imagef
#endif

#if A_FROM == IMAGE
#define A_TYPE read_only image2d_t
#else
#define A_TYPE global const ELEMENT *
#endif
#if B_FROM == IMAGE
#define B_TYPE read_only image2d_t
#else
#define B_TYPE global const ELEMENT *
#endif

// Texels of an image: four elements each. The coordinates are whole texels inside it, so no sampler is needed.
#define TEXEL(from, x, y) READ_IMAGE(from, (int2)(x, y))
#define TEXELS_4(from, x, y) TEXEL(from, x, y)
#define TEXELS_8(from, x, y) (JOIN(NUMBER, 8))(TEXEL(from, x, y), TEXEL(from, (x) + 1, y))
#define TEXELS_16(from, x, y) \
    (JOIN(NUMBER, 16))(TEXEL(from, x, y), TEXEL(from, (x) + 1, y), TEXEL(from, (x) + 2, y), TEXEL(from, (x) + 3, y))

// A: one of four ways.
#if A_FROM == PACKED
// A view of a packed operand is (offset, from panel to panel, from step to step, from product to product).
#define A_BEGIN \
    const uint a_panel = a_at.z / (ROWS * DEPTH); \
    a += a_at.x + (size_t)batch * a_at.w + tile_m / a_panel * a_at.y + tile_m % a_panel * (ROWS * DEPTH);
#define A_BLOCK(i)
#if DOT
#define A_ROW(r) const char4 a_##r = vload4(0x##r, a_step);
#define A_STEP(i, s) \
    global const char *a_step = a + (i + s) * a_at.z; \
    EACH_ROW(A_ROW)
#elif A_VECTOR
#define A_ROW(r) const NUMBER a_##r = a_step.s##r;
#define A_STEP(i, s) \
    const JOIN(NUMBER, ROWS) a_step = LOAD(ROWS, a + (i + s) * a_at.z); \
    EACH_ROW(A_ROW)
#else
#define A_ROW(r) const NUMBER a_##r = LOAD1(a_step + 0x##r);
#define A_STEP(i, s) \
    global const ELEMENT *a_step = a + (i + s) * a_at.z; \
    EACH_ROW(A_ROW)
#endif
#define A_LAST(i) A_STEP(i, 0)
#elif A_FROM == IMAGE
#define A_BEGIN const uint a_first = batch * a_at.w;
#define A_BLOCK(i)
#define A_ROW(r) const NUMBER a_##r = a_step.s##r;
#define A_STEP(i, s) \
    const JOIN(NUMBER, ROWS) a_step = PASTE(TEXELS_, ROWS)(a, tile_m * (ROWS / 4), a_first + i + s); \
    EACH_ROW(A_ROW)
#define A_LAST(i) A_STEP(i, 0)
#elif A_FROM == ACROSS
#define A_BEGIN a += a_at.x + OFFSET(batch, OPERAND_A) + (size_t)batch * a_at.w;
#define A_BLOCK(i)
#define A_ROW(r) const NUMBER a_##r = LOAD1(a_step + min(row + 0x##r, m - 1));
#define A_STEP(i, s) \
    global const ELEMENT *a_step = a + (i + s) * a_at.z; \
    EACH_ROW(A_ROW)
#define A_LAST(i) A_STEP(i, 0)
#else
#define A_POINTER(r) global const ELEMENT *const a_row_##r = a + min(row + 0x##r, m - 1) * a_at.y;
#define A_BEGIN \
    a += a_at.x + OFFSET(batch, OPERAND_A) + (size_t)batch * a_at.w; \
    EACH_ROW(A_POINTER)
// A row is contiguous along K: a vector of it serves UNROLL steps.
#if UNROLL == 1
#define A_BLOCK(i)
#define A_STEP(i, s) A_LAST(i)
#else
#if A_ALIGNED
#define A_BLOCK_ROW(r) const JOIN(NUMBER, UNROLL) a_block_##r = LOAD_ALIGNED(UNROLL, a_row_##r + block);
#else
#define A_BLOCK_ROW(r) const JOIN(NUMBER, UNROLL) a_block_##r = LOAD(UNROLL, a_row_##r + block);
#endif
#define A_BLOCK(i) \
    const uint block = i; \
    EACH_ROW(A_BLOCK_ROW)
#define A_ROW_0(r) const NUMBER a_##r = a_block_##r.s0;
#define A_ROW_1(r) const NUMBER a_##r = a_block_##r.s1;
#define A_ROW_2(r) const NUMBER a_##r = a_block_##r.s2;
#define A_ROW_3(r) const NUMBER a_##r = a_block_##r.s3;
#define A_ROW_4(r) const NUMBER a_##r = a_block_##r.s4;
#define A_ROW_5(r) const NUMBER a_##r = a_block_##r.s5;
#define A_ROW_6(r) const NUMBER a_##r = a_block_##r.s6;
#define A_ROW_7(r) const NUMBER a_##r = a_block_##r.s7;
#define A_STEP(i, s) EACH_ROW(A_ROW_##s)
#endif
#define A_ROW_LAST(r) const NUMBER a_##r = LOAD1(a_row_##r + last_step);
#define A_LAST(i) \
    const uint last_step = i; \
    EACH_ROW(A_ROW_LAST)
#endif

// B: one of four ways.
#if B_FROM == PACKED
#define B_BEGIN \
    const uint b_panel = b_at.z / (COLUMNS * DEPTH); \
    b += b_at.x + (size_t)batch * b_at.w + tile_n / b_panel * b_at.y + tile_n % b_panel * (COLUMNS * DEPTH);
#if DOT
#define B_VECTOR(_, j) const char16 b_##j = vload16(j, b_step);
#else
#define B_VECTOR(_, j) const numbers_t b_##j = LOAD_ALIGNED(VECTOR, b_step + (j) * VECTOR);
#endif
#define B_STEP(i, s) \
    global const ELEMENT *b_step = b + (i + s) * b_at.z; \
    EACH_VECTOR(B_VECTOR, )
#elif B_FROM == IMAGE
#define B_BEGIN const uint b_first = batch * b_at.w;
#define B_VECTOR(_, j) \
    const numbers_t b_##j = PASTE(TEXELS_, VECTOR)(b, (tile_n * VECTORS + (j)) * (VECTOR / 4), b_step);
#define B_STEP(i, s) \
    const uint b_step = b_first + i + s; \
    EACH_VECTOR(B_VECTOR, )
#elif B_FROM == ACROSS && B_WHOLE
#if B_ALIGNED
#define LOAD_COLUMNS LOAD_ALIGNED
#else
#define LOAD_COLUMNS LOAD
#endif
#define B_POINTER(_, j) global const ELEMENT *const b_column_##j = b + min(column + (j) * VECTOR, n - VECTOR);
#define B_BEGIN \
    b += b_at.x + OFFSET(batch, OPERAND_B) + (size_t)batch * b_at.w; \
    EACH_VECTOR(B_POINTER, )
#define B_VECTOR(_, j) const numbers_t b_##j = LOAD_COLUMNS(VECTOR, b_column_##j + b_step);
#define B_STEP(i, s) \
    const uint b_step = (i + s) * b_at.y; \
    EACH_VECTOR(B_VECTOR, )
#elif B_FROM == ACROSS
// A vector that may reach over the edge; zeros there.
static inline numbers_t load_part(global const ELEMENT *from, const uint left)
{
    numbers_t values = 0;
#define PART_LANE(l) \
    if (0x##l < left) \
        values.s##l = LOAD1(from + 0x##l);
    EACH_LANE(PART_LANE)
    return values;
}
#define B_BEGIN b += b_at.x + OFFSET(batch, OPERAND_B) + (size_t)batch * b_at.w + column;
#define B_VECTOR(_, j) \
    const numbers_t b_##j = column + (j + 1) * VECTOR <= n \
        ? LOAD(VECTOR, b_step + (j) * VECTOR) \
        : load_part(b_step + (j) * VECTOR, column + (j) * VECTOR < n ? n - column - (j) * VECTOR : 0);
#define B_STEP(i, s) \
    global const ELEMENT *b_step = b + (i + s) * b_at.y; \
    EACH_VECTOR(B_VECTOR, )
#else
#define B_BEGIN b += b_at.x + OFFSET(batch, OPERAND_B) + (size_t)batch * b_at.w;
#define B_LANE(l) values.s##l = LOAD1(from + min(first + 0x##l, n - 1) * step);
// Elements of one step of K, a column apart.
static inline numbers_t gathered(global const ELEMENT *from, const uint first, const uint n, const uint step)
{
    numbers_t values;
    EACH_LANE(B_LANE)
    return values;
}
#define B_VECTOR(_, j) const numbers_t b_##j = gathered(b_step, column + (j) * VECTOR, n, b_at.z);
#define B_STEP(i, s) \
    global const ELEMENT *b_step = b + i + s; \
    EACH_VECTOR(B_VECTOR, )
#endif
