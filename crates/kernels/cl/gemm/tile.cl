// A tile of C for each work-item, in registers.
//
// A step along K loads ROWS elements of A and COLUMNS of B, and does a multiply-add for each pair: at 4x4, 16 for 8
// elements, where one element of C for each work-item does 1 for 2. A larger tile saves more loads, but takes the
// registers that other work-items need to hide latency: on Bifrost and Valhall the full number of threads runs with
// up to 32 registers, and past 64 the compiler spills. Fast on Mali, Adreno and CPUs, where an element that is read
// twice comes from a cache.
//
// UNROLL:      steps along K of an iteration: 1, 2, 4 or 8.
// ROWS_FIRST:  1 makes neighbouring work-items neighbours down C. On a CPU, work-groups then run down a panel of B
//              that stays in the cache.
// ROLLED:      1 stores the sums to private memory at the end and has the epilogue once, in a loop. On a CPU the loop
//              along K then keeps its registers; on a GPU private memory is far away.
// DOT:         bytes only: 4 steps along K at once, by dot products of four. 1 uses cl_khr_integer_dot_product, 2
//              cl_arm_integer_dot_product_accumulate_int8. Both operands are packed for it, and VECTOR is 4.
// ZERO_POINTS: bytes only: 1 subtracts the zero points of A and B.
// SLICES:      work-items of a work-group that share a tile, a power of two, side by side in its first dimension: each
//              takes a slice of the steps along K, and their sums are added through local memory, always in the same
//              order. For a C with too few tiles to fill a device, without the second launch that parts of K need.

#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#ifndef ROLLED
#define ROLLED 0
#endif
#ifndef DOT
#define DOT 0
#endif
#ifndef ZERO_POINTS
#define ZERO_POINTS 0
#endif
#ifndef SLICES
#define SLICES 1
#endif

// Slices take blocks of UNROLL steps in turns, so that a work-group reads neighbouring rows of B; each takes a
// contiguous slice where its steps are counted.
#if SLICES > 1 && ELEMENTS != HALVES_CHUNKED && !ZERO_POINTS
#define STRIDE (SLICES * UNROLL)
#else
#define STRIDE UNROLL
#endif

// The steps of an iteration. A macro does not expand within itself, so this list is another than TIMES_.
#define STEPS_1(X) X(0)
#define STEPS_2(X) STEPS_1(X) X(1)
#define STEPS_4(X) STEPS_2(X) X(2) X(3)
#define STEPS_8(X) STEPS_4(X) X(4) X(5) X(6) X(7)
#define EACH_STEP PASTE(STEPS_, UNROLL)

#ifdef GROUP_X
#define GROUP __attribute__((reqd_work_group_size(GROUP_X * SLICES, GROUP_Y, 1)))
#else
#define GROUP
#endif

#if DOT == 2
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
#define DOT4(a, b, sum) arm_dot_acc(a, b, sum)
#else
#define DOT4(a, b, sum) (dot(a, b) + (sum))
#endif
// Elements along K of a step.
#if DOT
#define DEPTH 4
#else
#define DEPTH 1
#endif

#define COLUMNS (VECTORS * VECTOR)

#if DOT
#define MULTIPLY(r, j) \
    p##r##_##j.s0 = DOT4(a_##r, b_##j.s0123, p##r##_##j.s0); \
    p##r##_##j.s1 = DOT4(a_##r, b_##j.s4567, p##r##_##j.s1); \
    p##r##_##j.s2 = DOT4(a_##r, b_##j.s89ab, p##r##_##j.s2); \
    p##r##_##j.s3 = DOT4(a_##r, b_##j.scdef, p##r##_##j.s3);
#else
#define MULTIPLY(r, j) p##r##_##j = MULTIPLY_ADD(a_##r, b_##j, p##r##_##j);
#endif
#define MULTIPLY_ROW(r) EACH_VECTOR(MULTIPLY, r)

// With zero points, the sum of (a - a0)(b - b0) is the sum of a b, less b0 times the sum of a, less a0 times the sum
// of b, plus a0 b0 for each step. Padding is 0 and adds nothing to the first three sums.
#if ZERO_POINTS
#define ZERO_PARAMETER , const int2 zeros
#define CLEAR_A(r) int a_sum_##r = 0;
#define CLEAR_B(_, j) sums_t b_sum_##j = 0;
#define CLEAR_SUMS EACH_ROW(CLEAR_A) EACH_VECTOR(CLEAR_B, )
#if DOT
#define ADD_A(r) a_sum_##r = DOT4(a_##r, (char4)(1), a_sum_##r);
#define ADD_B(_, j) \
    b_sum_##j.s0 = DOT4((char4)(1), b_##j.s0123, b_sum_##j.s0); \
    b_sum_##j.s1 = DOT4((char4)(1), b_##j.s4567, b_sum_##j.s1); \
    b_sum_##j.s2 = DOT4((char4)(1), b_##j.s89ab, b_sum_##j.s2); \
    b_sum_##j.s3 = DOT4((char4)(1), b_##j.scdef, b_sum_##j.s3);
#else
#define ADD_A(r) a_sum_##r += a_##r;
#define ADD_B(_, j) b_sum_##j += JOIN(convert_int, VECTOR)(b_##j);
#endif
#define ADD_SUMS EACH_ROW(ADD_A) EACH_VECTOR(ADD_B, )
#define CENTRED(r, j) \
    (p##r##_##j - zeros.y * a_sum_##r - zeros.x * b_sum_##j + \
     (int)(min(k, last * DEPTH) - first * DEPTH) * zeros.x * zeros.y)
#else
#define ZERO_PARAMETER
#define CLEAR_SUMS
#define ADD_SUMS
#define CENTRED(r, j) p##r##_##j
#endif

#define STEP(s) \
    { \
        A_STEP(i, s) \
        B_STEP(i, s) \
        MULTIPLY_ALL \
        ADD_SUMS \
    }
#define MULTIPLY_ALL EACH_ROW(MULTIPLY_ROW)

// Global size: tiles along the columns and the rows of C, rounded up to whole work-groups, the first times slices;
// and parts of K times products.
kernel GROUP void gemm_tile(A_TYPE a, const uint4 a_at, B_TYPE b, const uint4 b_at, PART_PARAMETERS ZERO_PARAMETER,
                            RESULT_PARAMETERS)
{
#if SLICES == 1
    const uint tile_x = get_global_id(0);
#else
    const uint tile_x = get_group_id(0) * GROUP_X + get_local_id(0) % GROUP_X;
#endif
    const uint tile_m = ROWS_FIRST ? tile_x : get_global_id(1);
    const uint tile_n = ROWS_FIRST ? get_global_id(1) : tile_x;
    const uint row = tile_m * ROWS;
    const uint column = tile_n * COLUMNS;
    const int is_inside = row < m && column < n;
#if SLICES == 1
    if (!is_inside)
        return;
#endif
    const uint z = get_global_id(2);
    const uint batch = z % batches;
#if SLICES == 1
    const uint first = z / batches * k_part;
    const uint last = min((k + DEPTH - 1) / DEPTH, first + k_part);
#else
    // Every work-item of the group must reach the barriers; outside C, and past the end of K, there are no steps.
    const uint slice = get_local_id(0) / GROUP_X;
    const uint part = z / batches * k_part, part_end = min((k + DEPTH - 1) / DEPTH, part + k_part);
#if STRIDE == UNROLL
    const uint steps = (k_part / UNROLL + SLICES - 1) / SLICES * UNROLL;
    const uint first = min(part + slice * steps, part_end);
    const uint last = is_inside ? min(part_end, first + steps) : first;
#else
    const uint first = part + slice * UNROLL;
    const uint last = is_inside ? part_end : first;
#endif
#endif
    A_BEGIN
    B_BEGIN

#define CLEAR(r, j) sums_t p##r##_##j = 0;
#define CLEAR_ROW(r) EACH_VECTOR(CLEAR, r)
    EACH_ROW(CLEAR_ROW)
    CLEAR_SUMS
#if ELEMENTS == HALVES_CHUNKED
    // A sum of halves loses small terms: after CHUNK steps it is moved to floats.
#define CLEAR_TOTAL(r, j) totals_t t##r##_##j = 0;
#define CLEAR_TOTALS(r) EACH_VECTOR(CLEAR_TOTAL, r)
#define MOVE(r, j) \
    t##r##_##j += JOIN(convert_float, VECTOR)(p##r##_##j); \
    p##r##_##j = 0;
#define MOVE_ROW(r) EACH_VECTOR(MOVE, r)
#define STORED(r, j) t##r##_##j
    EACH_ROW(CLEAR_TOTALS)
    for (uint chunk = first; chunk < last; chunk += CHUNK) {
        const uint end = min(last, chunk + CHUNK);
        uint i = chunk;
#else
#define STORED(r, j) CENTRED(r, j)
    {
        const uint end = last;
        uint i = first;
#endif
        for (; i + UNROLL <= end; i += STRIDE) {
            A_BLOCK(i)
            EACH_STEP(STEP)
        }
        for (; i < end; ++i) {
            A_LAST(i)
            B_STEP(i, 0)
            MULTIPLY_ALL
            ADD_SUMS
        }
#if ELEMENTS == HALVES_CHUNKED
        EACH_ROW(MOVE_ROW)
#endif
    }

    // The sums of the tile, of all slices.
#define TOTAL_OF(r, j) totals_t total##r##_##j = STORED(r, j);
#define TOTAL_ROW(r) EACH_VECTOR(TOTAL_OF, r)
    EACH_ROW(TOTAL_ROW)
#if SLICES > 1
    // The upper half of the slices hands its sums to the lower half, until one is left; each half has its own memory.
    local totals_t handed[SLICES][GROUP_X * GROUP_Y];
    const uint item = get_local_id(1) * GROUP_X + get_local_id(0) % GROUP_X;
#define HAND_DOWN(r, j) \
    for (uint half_of = SLICES / 2; half_of > 0; half_of /= 2) { \
        if (slice >= half_of && slice < 2 * half_of) \
            handed[slice][item] = total##r##_##j; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        if (slice < half_of) \
            total##r##_##j = PLUS(total##r##_##j, handed[slice + half_of][item]); \
    } \
    if (ROWS * VECTORS > 1) \
        barrier(CLK_LOCAL_MEM_FENCE);
#define HAND_DOWN_ROW(r) EACH_VECTOR(HAND_DOWN, r)
    EACH_ROW(HAND_DOWN_ROW)
    if (slice > 0 || !is_inside)
        return;
#endif

#if ROLLED
    totals_t results[ROWS * VECTORS];
#define STORE(r, j) results[0x##r * VECTORS + (j)] = total##r##_##j;
#define STORE_ROW(r) EACH_VECTOR(STORE, r)
    EACH_ROW(STORE_ROW)
    for (uint r = 0; r < ROWS * VECTORS; ++r)
        finish(results[r], row + r / VECTORS, column + r % VECTORS * VECTOR, RESULT_BATCH, RESULT_ARGUMENTS);
#else
#define STORE(r, j) finish(total##r##_##j, row + 0x##r, column + (j) * VECTOR, RESULT_BATCH, RESULT_ARGUMENTS);
#define STORE_ROW(r) EACH_VECTOR(STORE, r)
    EACH_ROW(STORE_ROW)
#endif
}
