// C = A * B through local memory: a work-group loads a block of A and a block of B once, all its work-items
// read them from there, and each computes a tile of SIDE x SIDE elements of C in registers.
//
// This is how desktop GPUs are programmed: their local memory is on the chip beside the arithmetic, and an
// element fetched once from far away serves a whole work-group. On Mali local memory is ordinary memory behind the same
// L1 cache that a plain load goes through: copying into it costs an extra load, an extra store and a barrier
// for nothing, so this kernel is no candidate there.
//
// Reads A and B as they are, no packing: what lies outside reads as zero. Along K that holds for both
// operands, so that the padding adds 0 * 0.
//
// HALF:  0 computes in float, 1 in half, the sums included.
// SIDE:  rows and columns of a work-item's tile, 4 or 8.
// GROUP: the work-group is GROUP x GROUP work-items.
// DEPTH: elements along K that a block holds.

#ifndef HALF
#define HALF 0
#endif
#ifndef SIDE
#define SIDE 4
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef DEPTH
#define DEPTH 16
#endif

#if HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define REAL half
#else
#define REAL float
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
typedef JOIN(REAL, SIDE) vector_t;

#if SIDE == 4
#define EACH_ROW(X) X(0) X(1) X(2) X(3)
#elif SIDE == 8
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

// Rows and columns of C that a work-group computes.
#define BLOCK (SIDE * GROUP)

static void store_row(vector_t row, global REAL *to, const uint left)
{
    if (left >= SIDE) {
        JOIN(vstore, SIDE)(row, 0, to);
        return;
    }
#if SIDE == 8
    if (left & 4) {
        vstore4(row.lo, 0, to);
        to += 4;
        row.lo = row.hi;
    }
#endif
    if (left & 2) {
        vstore2(row.s01, 0, to);
        to += 2;
        row.s01 = row.s23;
    }
    if (left & 1)
        *to = row.s0;
}

// Global size: whole work-groups that cover the columns x rows of C, SIDE a work-item. No work-item leaves
// early: all of a group must reach every barrier.
kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1))) void
gemm_local_tile(global const REAL *a, global const REAL *b, global REAL *c, const uint m, const uint n,
                const uint k)
{
    // One vector more than a row needs, so that work-items that store a column of A hit different banks.
    local vector_t a_block[DEPTH][GROUP + 1];
    local vector_t b_block[DEPTH][GROUP];
    const uint x = get_local_id(0);
    const uint y = get_local_id(1);
    const uint item = y * GROUP + x;
    const uint block_row = get_group_id(1) * BLOCK;
    const uint block_column = get_group_id(0) * BLOCK;

#define CLEAR(r) vector_t c##r = 0;
    EACH_ROW(CLEAR)

    for (uint first = 0; first < k; first += DEPTH) {
        for (uint i = item; i < BLOCK * DEPTH; i += GROUP * GROUP) {
            // A's rows run along K, B's along N: neighbours read neighbours in both.
            const uint a_row = i / DEPTH, a_step = i % DEPTH;
            const uint b_column = i % BLOCK, b_step = i / BLOCK;
            const bool a_inside = block_row + a_row < m && first + a_step < k;
            const bool b_inside = block_column + b_column < n && first + b_step < k;
            ((local REAL *)a_block[a_step])[a_row] =
                a_inside ? a[(block_row + a_row) * k + first + a_step] : (REAL)0;
            ((local REAL *)b_block[b_step])[b_column] =
                b_inside ? b[(first + b_step) * n + block_column + b_column] : (REAL)0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint step = 0; step < DEPTH; ++step) {
            const vector_t a_step = a_block[step][y];
            const vector_t b_step = b_block[step][x];
#define MULTIPLY_ROW(r) c##r = a_step.s##r * b_step + c##r;
            EACH_ROW(MULTIPLY_ROW)
        }
        // Nobody may overwrite a block that another work-item still reads.
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const uint row = block_row + y * SIDE;
    const uint column = block_column + x * SIDE;
    if (column >= n)
        return;
#define STORE_ROW(r) \
    if (row + r < m) \
        store_row(c##r, c + (row + r) * n + column, n - column);
    EACH_ROW(STORE_ROW)
}
