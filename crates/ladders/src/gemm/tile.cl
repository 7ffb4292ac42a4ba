// C = A * B, a tile of TILE_M x TILE_N elements of C a work-item.
//
// A step along K loads TILE_M elements of A and TILE_N of B and does TILE_M * TILE_N multiply-adds with
// them: at 4x4, 16 for 8 elements, in two 16-byte loads, where the naive kernel does 1 for 2. The tile is held
// in registers; a larger one saves more loads but takes the registers that other work-items need to hide
// latency (Bifrost and Valhall: up to 32 registers the full number of threads runs, past 64 the compiler spills).
//
// For the loads to be vectors, the elements of a step must lie side by side. B's already do. A's lie k apart,
// so A is transposed ahead, once; each of its elements is read n / TILE_N times afterwards.
//
// Where an operand lies decides which unit fetches it: buffers go through load/store, images through the
// texture unit with its own cache. On Mali both work side by side, so A in an image and B in a buffer
// share the load; on Adreno images are cached and buffers are not, so both in images wins.
//
// A: k rows of tiles_m vectors (transposed, padded to whole tiles with zeros); B: k rows of tiles_n vectors;
// C: m x n, nothing beyond it is written. Global size: at least tiles_n x tiles_m; surplus work-items leave.
//
// HALF:             0 computes in float, 1 in half, the sums included.
// TILE_M, TILE_N:   2, 4 or 8; 4 or 8 for an operand in an image, of one or two texels.
// IMAGE_A, IMAGE_B: 1 reads the operand as an image of four channels a texel.
// FMA:              1 uses fma(). Full rate on Bifrost, Valhall and desktop GPUs; a quarter of it on Midgard;
//                   emulated and over 20 times slower on Adreno 6xx. a * b + c lets the compiler choose.
// UNROLL_K:         1 or 2 steps a turn of the loop; 2 needs an even k.

#ifndef HALF
#define HALF 0
#endif
#ifndef TILE_M
#define TILE_M 4
#endif
#ifndef TILE_N
#define TILE_N 4
#endif
#ifndef IMAGE_A
#define IMAGE_A 0
#endif
#ifndef IMAGE_B
#define IMAGE_B 0
#endif
#ifndef FMA
#define FMA 0
#endif
#ifndef UNROLL_K
#define UNROLL_K 1
#endif

#if HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define REAL half
#define READ_IMAGE read_imageh
#else
#define REAL float
#define READ_IMAGE read_imagef
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

typedef JOIN(REAL, TILE_M) rows_t;
typedef JOIN(REAL, TILE_N) columns_t;

// Rows of the tile, written out: an array of accumulators is put into memory by older drivers, which costs
// more than all else gains.
#if TILE_M == 2
#define EACH_ROW(X) X(0) X(1)
#elif TILE_M == 4
#define EACH_ROW(X) X(0) X(1) X(2) X(3)
#elif TILE_M == 8
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

#define FROM_BUFFER(from, width, pitch, tile, step) JOIN(vload, width)((step) * (pitch) + (tile), from)
// The coordinates are whole texels inside the image, so no sampler is needed.
#define FROM_IMAGE_4(from, tile, step) READ_IMAGE(from, (int2)(tile, step))
#define FROM_IMAGE_8(from, tile, step) \
    (JOIN(REAL, 8))(READ_IMAGE(from, (int2)(2 * (tile), step)), READ_IMAGE(from, (int2)(2 * (tile) + 1, step)))

#if IMAGE_A
#define OPERAND_A read_only image2d_t
#define READ_A(step) JOIN(FROM_IMAGE_, TILE_M)(a, tile_m, step)
#else
#define OPERAND_A global const REAL *
#define READ_A(step) FROM_BUFFER(a, TILE_M, tiles_m, tile_m, step)
#endif
#if IMAGE_B
#define OPERAND_B read_only image2d_t
#define READ_B(step) JOIN(FROM_IMAGE_, TILE_N)(b, tile_n, step)
#else
#define OPERAND_B global const REAL *
#define READ_B(step) FROM_BUFFER(b, TILE_N, tiles_n, tile_n, step)
#endif

#if FMA
#define MULTIPLY_ADD(scalar, vector, sum) fma((columns_t)(scalar), vector, sum)
#else
#define MULTIPLY_ADD(scalar, vector, sum) ((scalar) * (vector) + (sum))
#endif

// Stores the first `left` elements of a row of the tile. The tail goes out in halves, so that no element needs
// an index that is only known at run time.
static void store_row(columns_t row, global REAL *to, const uint left)
{
    if (left >= TILE_N) {
        JOIN(vstore, TILE_N)(row, 0, to);
        return;
    }
#if TILE_N == 8
    if (left & 4) {
        vstore4(row.lo, 0, to);
        to += 4;
        row.lo = row.hi;
    }
#endif
#if TILE_N >= 4
    if (left & 2) {
        vstore2(row.s01, 0, to);
        to += 2;
        row.s01 = row.s23;
    }
#endif
    if (left & 1)
        *to = row.s0;
}

kernel void gemm_tile(OPERAND_A a, OPERAND_B b, global REAL *c, const uint m, const uint n, const uint k)
{
    const uint tiles_m = (m + TILE_M - 1) / TILE_M;
    const uint tiles_n = (n + TILE_N - 1) / TILE_N;
    const uint tile_n = get_global_id(0);
    const uint tile_m = get_global_id(1);
    if (tile_m >= tiles_m || tile_n >= tiles_n)
        return;

#define CLEAR(r) columns_t c##r = 0;
    EACH_ROW(CLEAR)

    // One step: column `step` of the tile's rows of A times row `step` of its columns of B.
#define MULTIPLY_ROW(r) c##r = MULTIPLY_ADD(a_step.s##r, b_step, c##r);
#define STEP(step) \
    { \
        const rows_t a_step = READ_A(step); \
        const columns_t b_step = READ_B(step); \
        EACH_ROW(MULTIPLY_ROW) \
    }
    for (uint i = 0; i < k; i += UNROLL_K) {
        STEP(i)
#if UNROLL_K == 2
        STEP(i + 1)
#endif
    }

    const uint row = tile_m * TILE_M;
    const uint column = tile_n * TILE_N;
#define STORE_ROW(r) \
    if (row + r < m) \
        store_row(c##r, c + (row + r) * n + column, n - column);
    EACH_ROW(STORE_ROW)
}
