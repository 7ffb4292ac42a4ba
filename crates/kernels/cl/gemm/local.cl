// A block of C for each work-group, through local memory.
//
// A work-group of GROUP_X x GROUP_Y work-items copies DEPTH steps of its rows of A and its columns of B into local
// memory, each element once, and all of them read it from there: at 128 x 128, an element from global memory serves
// 128 multiply-adds. The elements of the next block are loaded into registers before this block is multiplied, so
// that they arrive meanwhile; with two buffers they are also stored without waiting until the others have finished
// this one. Fast on desktop GPUs, whose local memory is beside the arithmetic. On Mali local memory is ordinary
// memory behind the same cache, and copying into it gains nothing.
//
// The rows and columns of a work-item are groups of four, GROUP_Y and GROUP_X groups apart: neighbours then read
// neighbouring vectors of 16 bytes, which are in different banks. With 8 consecutive columns each, every second
// neighbour would read from the same bank.
//
// A view of an operand is (offset, distance from row (column, for B) to row, from step to step, from product to
// product).
//
// DEPTH:            steps along K of a block.
// BUFFERS:          blocks in local memory, 1 or 2.
// A_FROM, B_FROM:   ACROSS the block or ALONG K, whichever is contiguous. A packed operand is ACROSS.
// A_ALIGNED, ...:   1 when vectors of four elements are aligned to their size.
// A_LOADS, B_LOADS: vectors of four that a work-item copies for each block.
// A_WHOLE, ...:     1 when no block reaches over an edge, of the operand or of a part of K; 2 when they only
//                   reach over the edge of the operand, by whole vectors: the last vector inside is loaded instead,
//                   which needs no branch. What is computed from it lies outside C and is not stored. 3 when they
//                   also reach over the end of K, by whole vectors: those are replaced by zeros.
// A_OFFSETS, ...:   0 when a packed operand needs no offsets of its products.

#define ACROSS 2
#define ALONG 3
#ifndef A_FROM
#define A_FROM ALONG
#endif
#ifndef B_FROM
#define B_FROM ACROSS
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
#ifndef GROUP_X
#define GROUP_X 16
#define GROUP_Y 16
#endif
#ifndef BUFFERS
#define BUFFERS 2
#endif
#ifndef A_ALIGNED
#define A_ALIGNED 0
#endif
#ifndef B_ALIGNED
#define B_ALIGNED 0
#endif
#ifndef A_WHOLE
#define A_WHOLE 0
#endif
#ifndef B_WHOLE
#define B_WHOLE 0
#endif
#ifndef A_LOADS
#define A_LOADS 1
#endif
#ifndef B_LOADS
#define B_LOADS 1
#endif
#ifndef A_OFFSETS
#define A_OFFSETS 1
#endif
#ifndef B_OFFSETS
#define B_OFFSETS 1
#endif
#define ITEMS (GROUP_X * GROUP_Y)
#define BLOCK_M (ROWS * GROUP_Y)
#define BLOCK_N (VECTORS * 4 * GROUP_X)

typedef JOIN(NUMBER, 4) four_t;

// Four consecutive elements; zeros from `left` on.
static inline four_t load_four(global const ELEMENT *from, const uint left, const int aligned)
{
    if (left >= 4)
        return aligned ? LOAD_ALIGNED(4, from) : LOAD(4, from);
    four_t values = 0;
    if (left > 0)
        values.s0 = LOAD1(from);
    if (left > 1)
        values.s1 = LOAD1(from + 1);
    if (left > 2)
        values.s2 = LOAD1(from + 2);
    return values;
}

// Vector `index` of a block, from `first` on along K; its position depends on the layout of the operand. `extent` is
// the number of rows or columns of the operand from the block's first on. A row of a block in local memory is one
// vector longer than needed, so that the four stores of a vector along K hit different banks.
#if A_FROM == ACROSS || B_FROM == ACROSS
static inline four_t fetch_across(const uint index, global const ELEMENT *from, const uint4 view, const uint extent,
                                  const uint width, const uint first, const uint last, const int aligned,
                                  const int whole)
{
    const uint at = index % (width / 4) * 4, step = first + index / (width / 4);
    if (whole == 2)
        return load_four(from + min(at, extent - 4) + step * view.z, 4, aligned);
    if (whole == 3) {
        const four_t values = load_four(from + min(at, extent - 4) + min(step, last - 1) * view.z, 4, aligned);
        return step < last ? values : (four_t)(0);
    }
    return load_four(from + at + step * view.z, whole ? 4 : step < last && at < extent ? extent - at : 0, aligned);
}

static inline void put_across(const uint index, local four_t *block, const uint width, const four_t values)
{
    block[index / (width / 4) * (width / 4 + 1) + index % (width / 4)] = values;
}
#endif
#if A_FROM == ALONG || B_FROM == ALONG
static inline four_t fetch_along(const uint index, global const ELEMENT *from, const uint4 view, const uint extent,
                                 const uint first, const uint last, const int aligned, const int whole)
{
    const uint at = index / (DEPTH / 4), step = first + index % (DEPTH / 4) * 4;
    if (whole == 2)
        return load_four(from + min(at, extent - 1) * view.y + step, 4, aligned);
    if (whole == 3) {
        const four_t values = load_four(from + min(at, extent - 1) * view.y + min(step, last - 4), 4, aligned);
        return step < last ? values : (four_t)(0);
    }
    return load_four(from + at * view.y + step, whole ? 4 : step < last && at < extent ? last - step : 0, aligned);
}

static inline void put_along(const uint index, local four_t *block, const uint width, const four_t values)
{
    local NUMBER *to = (local NUMBER *)block + index % (DEPTH / 4) * 4 * (width + 4) + index / (DEPTH / 4);
    to[0] = values.s0;
    to[width + 4] = values.s1;
    to[2 * (width + 4)] = values.s2;
    to[3 * (width + 4)] = values.s3;
}
#endif

#if A_FROM == ALONG
#define A_FETCH(l) a_next_##l = fetch_along(item + 0x##l * ITEMS, a, a_at, a_left, next, last, A_ALIGNED, A_WHOLE);
#define A_PUT(l) put_along(item + 0x##l * ITEMS, a_block[to], BLOCK_M, a_next_##l);
#else
#define A_FETCH(l) \
    a_next_##l = fetch_across(item + 0x##l * ITEMS, a, a_at, a_left, BLOCK_M, next, last, A_ALIGNED, A_WHOLE);
#define A_PUT(l) put_across(item + 0x##l * ITEMS, a_block[to], BLOCK_M, a_next_##l);
#endif
#if B_FROM == ALONG
#define B_FETCH(l) b_next_##l = fetch_along(item + 0x##l * ITEMS, b, b_at, b_left, next, last, B_ALIGNED, B_WHOLE);
#define B_PUT(l) put_along(item + 0x##l * ITEMS, b_block[to], BLOCK_N, b_next_##l);
#else
#define B_FETCH(l) \
    b_next_##l = fetch_across(item + 0x##l * ITEMS, b, b_at, b_left, BLOCK_N, next, last, B_ALIGNED, B_WHOLE);
#define B_PUT(l) put_across(item + 0x##l * ITEMS, b_block[to], BLOCK_N, b_next_##l);
#endif
#define A_NEXT(l) four_t a_next_##l;
#define B_NEXT(l) four_t b_next_##l;
#define EACH_A_LOAD PASTE(TIMES_, A_LOADS)
#define EACH_B_LOAD PASTE(TIMES_, B_LOADS)

// The rows of a work-item at a step, as one vector.
typedef JOIN(NUMBER, 4) quads_4;
typedef JOIN(NUMBER, 8) quads_8;
typedef JOIN(NUMBER, 16) quads_12;
typedef JOIN(NUMBER, 16) quads_16;
#define QUADS_4(step) step[0]
#define QUADS_8(step) (quads_8)(step[0], step[GROUP_Y])
#define QUADS_12(step) (quads_12)(step[0], step[GROUP_Y], step[2 * GROUP_Y], (four_t)(0))
#define QUADS_16(step) (quads_16)(step[0], step[GROUP_Y], step[2 * GROUP_Y], step[3 * GROUP_Y])

// Global size: work-groups that cover C; no work-item returns early, because all of a group must reach every barrier.
kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void gemm_local(global const ELEMENT *a, const uint4 a_at, global const ELEMENT *b, const uint4 b_at,
                const uint2 extents, PART_PARAMETERS, RESULT_PARAMETERS)
{
    local four_t a_block[BUFFERS][DEPTH * (BLOCK_M / 4 + 1)];
    local four_t b_block[BUFFERS][DEPTH * (BLOCK_N / 4 + 1)];
    const uint x = get_local_id(0);
    const uint y = get_local_id(1);
    const uint item = y * GROUP_X + x;
    const uint row = get_group_id(1) * BLOCK_M;
    const uint column = get_group_id(0) * BLOCK_N;
    const uint z = get_group_id(2);
    const uint batch = z % batches;
    const uint first = z / batches * k_part;
    const uint last = min(k, first + k_part);
    const uint a_left = extents.x - row;
    const uint b_left = extents.y - column;
    a += a_at.x + (size_t)batch * a_at.w + row * a_at.y;
    b += b_at.x + (size_t)batch * b_at.w + column * b_at.y;
#if A_OFFSETS
    a += OFFSET(batch, OPERAND_A);
#endif
#if B_OFFSETS
    b += OFFSET(batch, OPERAND_B);
#endif

#define CLEAR(r, j) sums_t p##r##_##j = 0;
#define CLEAR_ROW(r) EACH_VECTOR(CLEAR, r)
    EACH_ROW(CLEAR_ROW)
    EACH_A_LOAD(A_NEXT)
    EACH_B_LOAD(B_NEXT)
    {
        const uint next = first, to = 0;
        EACH_A_LOAD(A_FETCH)
        EACH_B_LOAD(B_FETCH)
        EACH_A_LOAD(A_PUT)
        EACH_B_LOAD(B_PUT)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint from = 0;
    for (uint next = first + DEPTH; next < last + DEPTH; next += DEPTH) {
        // Nothing to fetch past the end.
        if (next < last) {
            EACH_A_LOAD(A_FETCH)
            EACH_B_LOAD(B_FETCH)
        }
        local const four_t *a_step = a_block[from] + y;
        local const four_t *b_step = b_block[from] + x;
#define B_VECTOR(_, j) const four_t b_##j = b_step[j * GROUP_X];
#define MULTIPLY(r, j) p##r##_##j = MULTIPLY_ADD(a_quads.s##r, b_##j, p##r##_##j);
#define MULTIPLY_ROW(r) EACH_VECTOR(MULTIPLY, r)
#pragma unroll
        for (uint step = 0; step < DEPTH; ++step) {
            const PASTE(quads_, ROWS) a_quads = PASTE(QUADS_, ROWS)(a_step);
            EACH_VECTOR(B_VECTOR, )
            EACH_ROW(MULTIPLY_ROW)
            a_step += BLOCK_M / 4 + 1;
            b_step += BLOCK_N / 4 + 1;
        }
#if BUFFERS == 1
        // No work-item may overwrite a block that another still reads.
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        const uint to = (from + 1) % BUFFERS;
        if (next < last) {
            EACH_A_LOAD(A_PUT)
            EACH_B_LOAD(B_PUT)
        }
        from = to;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

#define STORE(r, j) \
    finish(p##r##_##j, row + 0x##r / 4 * (4 * GROUP_Y) + y * 4 + 0x##r % 4, column + j * (4 * GROUP_X) + x * 4, \
           RESULT_BATCH, RESULT_ARGUMENTS);
#define STORE_ROW(r) EACH_VECTOR(STORE, r)
    EACH_ROW(STORE_ROW)
}
