// C = alpha A B + beta C, then an epilogue: the kernels of the family, one of them in a program.
//
// They are in one file, and a program is built for one of them, so that loads, the epilogue and the store are written once:
// a source handed to a driver has nothing to include. They differ in one thing only: how far an element travels before it is multiplied.
//
//   gemm_tile    a tile of C in the registers of each work-item, elements straight from global memory or through
//                the texture unit. On Mali and Adreno, and on CPUs: whatever is read twice comes from a cache.
//   gemm_local   a block of C for each work-group, elements by way of local memory. On desktop GPUs, whose local
//                memory lies beside the arithmetic; on Mali it is plain memory, and copying into it is work for nothing.
//   gemm_vector  m = 1: no element of B is used twice, so nothing but the order of its loads matters.
//   gemm_sum     adds up what work-items of other parts of K have left behind, always in the same order.
//
// A is m x k, B is k x n, C is m x n. A view `at` of a matrix is (offset, from row to row, from column to column, from
// product to product of a batch), in elements. The columns of C are contiguous wherever it matters; a C that lies the
// other way is the product of the transposes.
//
// Edges. Work-items at the edge read their last row or column again, or zeros, and store no more than there is. What
// they compute beside C may be anything, NaN too. K is never padded on one side alone: 0 * inf is NaN.
//
// KERNEL:    TILE, LOCAL, VECTOR_K or SUM.
// ELEMENTS:  FLOATS, HALVES (summed in half), HALVES_IN_FLOAT, HALVES_CHUNKED (half within CHUNK steps of K, float across),
//            BYTES (to int), BYTES_SCALED (to char).
// ROWS, VECTORS, VECTOR: a tile has ROWS rows of VECTORS vectors of VECTOR elements.
// UNROLL:    steps along K a turn.
// A_FROM, B_FROM: where an operand is read from, below.
// FMA:       1 insists on fma(). Full rate on Bifrost, Valhall and desktop GPUs; a quarter of it on Midgard; emulated
//            and over 20 times slower on Adreno 6xx. a * b + c lets the compiler choose.
// SHORT_PRODUCTS: 1 multiplies bytes in 16 bits, which their products fit: twice the lanes of a vector unit, and a cheaper multiplication,
//            for a conversion ahead of the sum.
// PARTIAL:   1 leaves plain sums of a part of K to gemm_sum.
// STAGES, STAGE_0 ...: the epilogue.

#define TILE 0
#define LOCAL 1
#define VECTOR_K 2
#define SUM 3
#ifndef KERNEL
#define KERNEL TILE
#endif

#define FLOATS 0
#define HALVES 1
#define HALVES_IN_FLOAT 2
#define HALVES_CHUNKED 3
#define BYTES 4
#define BYTES_SCALED 5
#ifndef ELEMENTS
#define ELEMENTS FLOATS
#endif

// Packed in panels (packing.cl), the same as an image, or as it lies: ACROSS is contiguous across the tile, along the
// rows of C for A and along its columns for B; ALONG is contiguous along K.
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

#ifndef ROWS
#define ROWS 4
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef VECTORS
#define VECTORS 1
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef FMA
#define FMA 0
#endif
#ifndef SHORT_PRODUCTS
#define SHORT_PRODUCTS 0
#endif
#ifndef PARTIAL
#define PARTIAL 0
#endif
#ifndef CHUNK
#define CHUNK 32
#endif
#ifndef STAGES
#define STAGES 0
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

// ---- Elements: what is loaded, what products are formed in (NUMBER), what is held across K (TOTAL), what is stored.

#if ELEMENTS == HALVES || ELEMENTS == HALVES_CHUNKED
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

#if ELEMENTS == FLOATS
#define ELEMENT float
#define NUMBER float
#define TOTAL float
#define SCALAR float
#elif ELEMENTS == HALVES
#define ELEMENT half
#define NUMBER half
#define TOTAL half
#define SCALAR float
#elif ELEMENTS == HALVES_IN_FLOAT
#define ELEMENT half
#define NUMBER float
#define TOTAL float
#define SCALAR float
#elif ELEMENTS == HALVES_CHUNKED
#define ELEMENT half
#define NUMBER half
#define TOTAL float
#define SCALAR float
#else
#define ELEMENT char
#if SHORT_PRODUCTS
#define NUMBER short
#else
#define NUMBER int
#endif
#define TOTAL int
#define SCALAR int
#endif
// What products are summed in.
#if ELEMENTS >= BYTES
#define SUMMED int
#else
#define SUMMED NUMBER
#endif

#if ELEMENTS == FLOATS || ELEMENTS == HALVES || ELEMENTS == HALVES_CHUNKED
#define LOAD(width, from) JOIN(vload, width)(0, from)
#define LOAD1(from) (*(from))
#define LOAD_ALIGNED(width, from) (*(global const JOIN(NUMBER, width) *)(from))
#elif ELEMENTS == HALVES_IN_FLOAT
#define LOAD(width, from) JOIN(vload_half, width)(0, from)
#define LOAD1(from) vload_half(0, from)
#define LOAD_ALIGNED(width, from) JOIN(vloada_half, width)(0, from)
#else
#define CONVERTED(width) JOIN(convert_, JOIN(NUMBER, width))
#define LOAD(width, from) CONVERTED(width)(JOIN(vload, width)(0, from))
#define LOAD1(from) ((NUMBER)*(from))
#define LOAD_ALIGNED(width, from) CONVERTED(width)(*(global const JOIN(char, width) *)(from))
#endif

#if ELEMENTS == HALVES || ELEMENTS == HALVES_CHUNKED
#define READ_IMAGE read_imageh
#else
#define READ_IMAGE read_imagef
#endif

typedef JOIN(NUMBER, VECTOR) numbers_t;
typedef JOIN(SUMMED, VECTOR) sums_t;
typedef JOIN(TOTAL, VECTOR) totals_t;

#if FMA
#define MULTIPLY_ADD(scalar, vector, sum) fma((numbers_t)(scalar), vector, sum)
#elif SHORT_PRODUCTS
#define MULTIPLY_ADD(scalar, vector, sum) (JOIN(convert_int, VECTOR)((scalar) * (vector)) + (sum))
#else
#define MULTIPLY_ADD(scalar, vector, sum) ((scalar) * (vector) + (sum))
#endif

// Everything that an older driver would spill as an array has names instead: X(0) X(1) ... X(f), read as digits.
#define TIMES_1(X) X(0)
#define TIMES_2(X) TIMES_1(X) X(1)
#define TIMES_3(X) TIMES_2(X) X(2)
#define TIMES_4(X) TIMES_3(X) X(3)
#define TIMES_5(X) TIMES_4(X) X(4)
#define TIMES_6(X) TIMES_5(X) X(5)
#define TIMES_7(X) TIMES_6(X) X(6)
#define TIMES_8(X) TIMES_7(X) X(7)
#define TIMES_9(X) TIMES_8(X) X(8)
#define TIMES_10(X) TIMES_9(X) X(9)
#define TIMES_11(X) TIMES_10(X) X(a)
#define TIMES_12(X) TIMES_11(X) X(b)
#define TIMES_13(X) TIMES_12(X) X(c)
#define TIMES_14(X) TIMES_13(X) X(d)
#define TIMES_15(X) TIMES_14(X) X(e)
#define TIMES_16(X) TIMES_15(X) X(f)
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define EACH_ROW PASTE(TIMES_, ROWS)
#define EACH_LANE PASTE(TIMES_, VECTOR)
// Lists of their own for what is inside of which: a macro does not expand within itself.
#define STEPS_1(X) X(0)
#define STEPS_2(X) STEPS_1(X) X(1)
#define STEPS_4(X) STEPS_2(X) X(2) X(3)
#define STEPS_8(X) STEPS_4(X) X(4) X(5) X(6) X(7)
#if UNROLL == 1
#define EACH_STEP STEPS_1
#elif UNROLL == 2
#define EACH_STEP STEPS_2
#elif UNROLL == 4
#define EACH_STEP STEPS_4
#elif UNROLL == 8
#define EACH_STEP STEPS_8
#endif
#define EACH_VECTOR_1(X, r) X(r, 0)
#define EACH_VECTOR_2(X, r) EACH_VECTOR_1(X, r) X(r, 1)
#define EACH_VECTOR_3(X, r) EACH_VECTOR_2(X, r) X(r, 2)
#define EACH_VECTOR_4(X, r) EACH_VECTOR_3(X, r) X(r, 3)
#define EACH_VECTOR PASTE(EACH_VECTOR_, VECTORS)

// ---- The end of every kernel: alpha, beta, the epilogue, and the store.

#define BIAS_COLUMNS 1
#define BIAS_ROWS 2
#define RELU 3
#define RELU6 4
#define CLAMP 5
#define RESIDUAL 6

#if PARTIAL
#define OUT TOTAL
#elif ELEMENTS == HALVES_IN_FLOAT || ELEMENTS == HALVES_CHUNKED
#define OUT half
#elif ELEMENTS == BYTES
#define OUT int
#else
#define OUT ELEMENT
#endif

// Biases and residuals are of C's type, but int for all that is summed in int.
#if ELEMENTS >= BYTES
#define SIDE int
#else
#define SIDE ELEMENT
#endif

#if (ELEMENTS == HALVES_IN_FLOAT || ELEMENTS == HALVES_CHUNKED) && !PARTIAL
#define GET(from) vload_half(0, from)
#define PUT(value, to) vstore_half_rte(value, 0, to)
#define PUT_ALL(values, to) JOIN(JOIN(vstore_half, VECTOR), _rte)(values, 0, to)
#else
#define GET(from) (*(from))
#define PUT(value, to) (*(to) = (value))
#define PUT_ALL(values, to) JOIN(vstore, VECTOR)(values, 0, to)
#endif
#if ELEMENTS == HALVES_IN_FLOAT || ELEMENTS == HALVES_CHUNKED
#define GET_SIDE(from) vload_half(0, from)
#else
#define GET_SIDE(from) (*(from))
#endif

// Integers wrap around; C leaves that undefined for signed ones.
#if ELEMENTS >= BYTES
#define UNSIGNED JOIN(uint, VECTOR)
#define SIGNED JOIN(as_int, VECTOR)
#define PLUS(a, b) SIGNED(JOIN(as_uint, VECTOR)(a) + JOIN(as_uint, VECTOR)(b))
#define SCALED(a, factor) SIGNED(JOIN(as_uint, VECTOR)(a) * (UNSIGNED)as_uint(factor))
#else
#define PLUS(a, b) ((a) + (b))
#define SCALED(a, factor) ((a) * (TOTAL)(factor))
#endif

#if STAGES > 0
#define PARAMETERS_0 , global const SIDE *side_0, const uint4 at_0
#define ARGUMENTS_0 , side_0, at_0
#define APPLY_0 APPLY(STAGE_0, side_0, at_0)
#else
#define PARAMETERS_0
#define ARGUMENTS_0
#define APPLY_0
#endif
#if STAGES > 1
#define PARAMETERS_1 , global const SIDE *side_1, const uint4 at_1
#define ARGUMENTS_1 , side_1, at_1
#define APPLY_1 APPLY(STAGE_1, side_1, at_1)
#else
#define PARAMETERS_1
#define ARGUMENTS_1
#define APPLY_1
#endif
#if STAGES > 2
#define PARAMETERS_2 , global const SIDE *side_2, const uint4 at_2
#define ARGUMENTS_2 , side_2, at_2
#define APPLY_2 APPLY(STAGE_2, side_2, at_2)
#else
#define PARAMETERS_2
#define ARGUMENTS_2
#define APPLY_2
#endif
#if STAGES > 3
#define PARAMETERS_3 , global const SIDE *side_3, const uint4 at_3
#define ARGUMENTS_3 , side_3, at_3
#define APPLY_3 APPLY(STAGE_3, side_3, at_3)
#else
#define PARAMETERS_3
#define ARGUMENTS_3
#define APPLY_3
#endif
#if STAGES > 4
#define PARAMETERS_4 , global const SIDE *side_4, const uint4 at_4
#define ARGUMENTS_4 , side_4, at_4
#define APPLY_4 APPLY(STAGE_4, side_4, at_4)
#else
#define PARAMETERS_4
#define ARGUMENTS_4
#define APPLY_4
#endif
#if STAGES > 5
#define PARAMETERS_5 , global const SIDE *side_5, const uint4 at_5
#define ARGUMENTS_5 , side_5, at_5
#define APPLY_5 APPLY(STAGE_5, side_5, at_5)
#else
#define PARAMETERS_5
#define ARGUMENTS_5
#define APPLY_5
#endif

#if ELEMENTS == BYTES_SCALED && !PARTIAL
// Multiplier and shift: one pair (SCALES 0), one a column (1), one a row (2). limits: zero point of C, least, largest.
#ifndef SCALES
#define SCALES 0
#endif
#define SCALE_PARAMETERS , global const int2 *scales, const int4 limits
#define SCALE_ARGUMENTS , scales, limits

// The nearest of value * multiplier / 2^shift, upwards from halfway, in integers that hold it: the same on every device.
static int rescaled(const int value, const int2 scale, const int4 limits)
{
    const long exact = (long)value * scale.x;
    const long nearest = ((exact >> (scale.y - 1)) + 1) >> 1;
    return (int)clamp(nearest + limits.x, (long)limits.y, (long)limits.z);
}
#else
#define SCALE_PARAMETERS
#define SCALE_ARGUMENTS
#endif

// Where the products of a batch begin, beyond what their strides say: of A, B and C in turn.
// TRANSPOSED: 1 where the kernel's A is the described B.
#ifndef OFFSETS
#define OFFSETS 0
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif
#define OPERAND_A TRANSPOSED
#define OPERAND_B (1 - TRANSPOSED)
#define OPERAND_C 2
#if OFFSETS
#define OFFSET_PARAMETER , global const uint *offsets
#define OFFSET_ARGUMENT , offsets
#define OFFSET(batch, operand) offsets[3 * (batch) + (operand)]
#else
#define OFFSET_PARAMETER
#define OFFSET_ARGUMENT
#define OFFSET(batch, operand) 0
#endif

#define RESULT_PARAMETERS \
    global OUT *c, const uint4 c_at, const uint m, const uint n, const SCALAR alpha, const SCALAR beta \
    OFFSET_PARAMETER SCALE_PARAMETERS PARAMETERS_0 PARAMETERS_1 PARAMETERS_2 PARAMETERS_3 PARAMETERS_4 PARAMETERS_5
#define RESULT_ARGUMENTS \
    c, c_at, m, n, alpha, beta OFFSET_ARGUMENT SCALE_ARGUMENTS \
    ARGUMENTS_0 ARGUMENTS_1 ARGUMENTS_2 ARGUMENTS_3 ARGUMENTS_4 ARGUMENTS_5

#if STAGES > 0
static totals_t side_elements(global const SIDE *from, const uint step, const uint left)
{
    totals_t values = 0;
#define SIDE_LANE(l) \
    if (0x##l < left) \
        values.s##l = GET_SIDE(from + 0x##l * step);
    EACH_LANE(SIDE_LANE)
    return values;
}

// One stage of the epilogue. `kind` is a constant: what is left of this is one line. Comparisons let a NaN through.
static totals_t staged(const int kind, totals_t values, global const SIDE *side, const uint4 at, const uint row,
                       const uint column, const uint left, const uint batch)
{
    if (kind == BIAS_COLUMNS)
        return PLUS(values, side_elements(side + column, 1, left));
    if (kind == BIAS_ROWS)
        return PLUS(values, (totals_t)(GET_SIDE(side + row)));
    if (kind == RESIDUAL)
        return PLUS(values, side_elements(side + at.x + (size_t)batch * at.w + row * at.y + column * at.z, at.z, left));
    totals_t least = 0, most = 6;
    if (kind == CLAMP) {
#if ELEMENTS >= BYTES
        least = as_int(at.x), most = as_int(at.y);
#else
        least = (TOTAL)as_float(at.x), most = (TOTAL)as_float(at.y);
#endif
    }
    values = values < least ? least : values;
    return kind == RELU ? values : values > most ? most : values;
}
#define APPLY(kind, side, at) values = staged(kind, values, side, at, row, column, left, batch);
#endif

// Stores sums of a row of C from `column` on, as far as C goes.
static void finish(totals_t values, const uint row, const uint column, const uint batch, RESULT_PARAMETERS)
{
    if (row >= m || column >= n)
        return;
    const uint left = n - column;
    global OUT *to = c + c_at.x + (size_t)batch * c_at.w + row * c_at.y + column * c_at.z;
#if !PARTIAL
    to += OFFSET(batch, OPERAND_C);
    values = SCALED(values, alpha);
    if (beta != 0) {
        totals_t before = 0;
#define BEFORE_LANE(l) \
    if (0x##l < left) \
        before.s##l = GET(to + 0x##l * c_at.z);
        EACH_LANE(BEFORE_LANE)
        values = PLUS(values, SCALED(before, beta));
    }
#endif
    APPLY_0 APPLY_1 APPLY_2 APPLY_3 APPLY_4 APPLY_5
#if ELEMENTS == BYTES_SCALED && !PARTIAL
#define RESCALE_LANE(l) \
    values.s##l = rescaled(values.s##l, scales[SCALES == 0 ? 0 : SCALES == 2 ? row : min(column + 0x##l, n - 1)], limits);
    EACH_LANE(RESCALE_LANE)
    const JOIN(char, VECTOR) stored = JOIN(convert_char, VECTOR)(values);
#else
    const totals_t stored = values;
#endif
    if (left >= VECTOR && c_at.z == 1) {
        PUT_ALL(stored, to);
        return;
    }
    // Lane by lane, so that no lane needs an index that is only known at run time.
#define PUT_LANE(l) \
    if (0x##l < left) \
        PUT(stored.s##l, to + 0x##l * c_at.z);
    EACH_LANE(PUT_LANE)
}

// The part of K and the product of the batch that the third dimension stands for.
#define PART_PARAMETERS const uint k, const uint k_part, const uint batches
#if PARTIAL
#define RESULT_BATCH z
#else
#define RESULT_BATCH batch
#endif

#ifdef GROUP_X
#define GROUP __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
#else
#define GROUP
#endif

#if KERNEL == TILE
// ---- A tile of C a work-item.
//
// A step along K loads ROWS elements of A and VECTORS * VECTOR of B and does a multiply-add for each pair: at 4x4, 16
// for 8 elements, where one element of C a work-item does 1 for 2. A larger tile saves more loads and takes the
// registers that other work-items need to hide latency (Bifrost and Valhall: up to 32 registers the full number of
// threads runs, past 64 the compiler spills).
//
// Where an operand lies decides which unit fetches it: buffers go through load/store, images through the texture unit
// with its own cache. On Mali both work side by side; on Adreno images are cached and buffers are not.
//
// ROWS_FIRST: 1 has neighbouring work-items one below the other. On a CPU, work-groups then run down a panel of B that
//             stays in the cache.
// ROLLED:     1 puts the sums into memory at the end and has the epilogue once, in a loop. On a CPU the loop along K then
//             keeps its registers; on a GPU private memory is far away.
// A_VECTOR:   1 loads the rows of a packed A as a vector, 2, 4, 8 or 16 of them; 0 one by one, which a CPU broadcasts
//             from memory.
// DOT:        bytes only: 4 steps along K at once, with dot products of four. 1 those of cl_khr_integer_dot_product, 2
//             those of cl_arm_integer_dot_product_accumulate_int8. Both operands are packed for it, VECTOR is 4.
// ZERO_POINTS: bytes only: 1 subtracts zero points of A and B.

#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#ifndef ROLLED
#define ROLLED 0
#endif
#ifndef A_VECTOR
#define A_VECTOR 0
#endif
#ifndef DOT
#define DOT 0
#endif
#ifndef ZERO_POINTS
#define ZERO_POINTS 0
#endif

#if DOT == 2
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
#define DOT4(a, b, sum) arm_dot_acc(a, b, sum)
#else
#define DOT4(a, b, sum) (dot(a, b) + (sum))
#endif
// Elements of a step: of a row of the tile, and of the steps themselves along K.
#if DOT
#define DEPTH 4
#else
#define DEPTH 1
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

// The rows of A at a step become a_0, a_1, ...
#if A_FROM == PACKED
// A view of a packed operand is (offset, from panel to panel, from step to step, from product to product).
#define A_BEGIN \
    const uint a_panel = a_at.z / (ROWS * DEPTH); \
    a += a_at.x + (size_t)batch * a_at.w + tile_m / a_panel * a_at.y + tile_m % a_panel * (ROWS * DEPTH);
#define A_TURN(i)
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
#define A_TURN(i)
#define A_ROW(r) const NUMBER a_##r = a_step.s##r;
#define A_STEP(i, s) \
    const JOIN(NUMBER, ROWS) a_step = PASTE(TEXELS_, ROWS)(a, tile_m * (ROWS / 4), a_first + i + s); \
    EACH_ROW(A_ROW)
#define A_LAST(i) A_STEP(i, 0)
#elif A_FROM == ACROSS
#define A_BEGIN a += a_at.x + OFFSET(batch, OPERAND_A) + (size_t)batch * a_at.w;
#define A_TURN(i)
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
// A row lies along K: a vector of it serves UNROLL steps.
#if UNROLL == 1
#define A_TURN(i)
#define A_STEP(i, s) A_LAST(i)
#else
#define A_TURN_ROW(r) const JOIN(NUMBER, UNROLL) a_turn_##r = LOAD(UNROLL, a_row_##r + turn);
#define A_TURN(i) \
    const uint turn = i; \
    EACH_ROW(A_TURN_ROW)
#define A_ROW_0(r) const NUMBER a_##r = a_turn_##r.s0;
#define A_ROW_1(r) const NUMBER a_##r = a_turn_##r.s1;
#define A_ROW_2(r) const NUMBER a_##r = a_turn_##r.s2;
#define A_ROW_3(r) const NUMBER a_##r = a_turn_##r.s3;
#define A_ROW_4(r) const NUMBER a_##r = a_turn_##r.s4;
#define A_ROW_5(r) const NUMBER a_##r = a_turn_##r.s5;
#define A_ROW_6(r) const NUMBER a_##r = a_turn_##r.s6;
#define A_ROW_7(r) const NUMBER a_##r = a_turn_##r.s7;
#define A_STEP(i, s) EACH_ROW(A_ROW_##s)
#endif
#define A_ROW_LAST(r) const NUMBER a_##r = LOAD1(a_row_##r + last_step);
#define A_LAST(i) \
    const uint last_step = i; \
    EACH_ROW(A_ROW_LAST)
#endif

// The columns of B at a step become the vectors b_0, b_1, ...
#if B_FROM == PACKED
#define B_BEGIN \
    const uint b_panel = b_at.z / (COLUMNS * DEPTH); \
    b += b_at.x + (size_t)batch * b_at.w + tile_n / b_panel * b_at.y + tile_n % b_panel * (COLUMNS * DEPTH);
#if DOT
#define B_VECTOR(_, j) const char16 b_##j = vload16(j, b_step);
#else
#define B_VECTOR(_, j) const numbers_t b_##j = LOAD(VECTOR, b_step + (j) * VECTOR);
#endif
#define B_STEP(i, s) \
    global const ELEMENT *b_step = b + (i + s) * b_at.z; \
    EACH_VECTOR(B_VECTOR, )
#elif B_FROM == IMAGE
#define B_BEGIN const uint b_first = batch * b_at.w;
#define B_VECTOR(_, j) const numbers_t b_##j = PASTE(TEXELS_, VECTOR)(b, (tile_n * VECTORS + (j)) * (VECTOR / 4), b_step);
#define B_STEP(i, s) \
    const uint b_step = b_first + i + s; \
    EACH_VECTOR(B_VECTOR, )
#elif B_FROM == ACROSS
// Elements of a vector that may reach over the edge; zeros there.
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

// With zero points, the sum of (a - a0)(b - b0) is that of a b, less b0 times the sum of a, less a0 times that of b, and
// a0 b0 for every step. Padding is 0, and adds nothing to the first three.
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
    (p##r##_##j - zeros.y * a_sum_##r - zeros.x * b_sum_##j + (int)(min(k, last * DEPTH) - first * DEPTH) * zeros.x * zeros.y)
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

// Global size: tiles along the columns and the rows of C, rounded up to whole work-groups, and parts of K times products.
kernel GROUP void gemm_tile(A_TYPE a, const uint4 a_at, B_TYPE b, const uint4 b_at, PART_PARAMETERS ZERO_PARAMETER,
                            RESULT_PARAMETERS)
{
    const uint tile_m = get_global_id(ROWS_FIRST ? 0 : 1);
    const uint tile_n = get_global_id(ROWS_FIRST ? 1 : 0);
    const uint row = tile_m * ROWS;
    const uint column = tile_n * COLUMNS;
    if (row >= m || column >= n)
        return;
    const uint z = get_global_id(2);
    const uint batch = z % batches;
    const uint first = z / batches * k_part;
    const uint last = min((k + DEPTH - 1) / DEPTH, first + k_part);
    A_BEGIN
    B_BEGIN

#define CLEAR(r, j) sums_t p##r##_##j = 0;
#define CLEAR_ROW(r) EACH_VECTOR(CLEAR, r)
    EACH_ROW(CLEAR_ROW)
    CLEAR_SUMS
#if ELEMENTS == HALVES_CHUNKED
    // Sums of halves lose what is small beside them: after CHUNK steps they are moved to floats.
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
        for (; i + UNROLL <= end; i += UNROLL) {
            A_TURN(i)
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

#if ROLLED
    totals_t results[ROWS * VECTORS];
#define STORE(r, j) results[0x##r * VECTORS + (j)] = STORED(r, j);
#define STORE_ROW(r) EACH_VECTOR(STORE, r)
    EACH_ROW(STORE_ROW)
    for (uint r = 0; r < ROWS * VECTORS; ++r)
        finish(results[r], row + r / VECTORS, column + r % VECTORS * VECTOR, RESULT_BATCH, RESULT_ARGUMENTS);
#else
#define STORE(r, j) finish(STORED(r, j), row + 0x##r, column + (j) * VECTOR, RESULT_BATCH, RESULT_ARGUMENTS);
#define STORE_ROW(r) EACH_VECTOR(STORE, r)
    EACH_ROW(STORE_ROW)
#endif
}
#endif

#if KERNEL == LOCAL
// ---- A block of C a work-group, by way of local memory.
//
// A work-group of GROUP_X x GROUP_Y work-items copies DEPTH steps of its rows of A and its columns of B into local memory,
// each element once, and all of them read it from there: at 128 x 128, an element from global memory serves 128
// multiply-adds. The next block's elements are loaded into registers before this block is computed with, so that they
// arrive meanwhile; with two buffers they are also stored without waiting for the others to be done with this one.
//
// The rows and columns of a work-item are quads, a part of the block apart: neighbours then read neighbouring vectors of 16
// bytes, which come from different banks, where a single row of 8 would have every second one come from the same.
//
// A view of an operand is (offset, from row (column, for B) to row, from step to step, from product to product).
//
// DEPTH:            steps along K of a block.
// BUFFERS:          blocks in local memory, 1 or 2.
// A_FROM, B_FROM:   ACROSS the block or ALONG K, as the operand is contiguous. A packed one is ACROSS.
// A_ALIGNED, ...:   1 where vectors of four elements are aligned to their size.
// A_LOADS, B_LOADS: such vectors that a work-item copies a block.
// A_WHOLE, ...:     1 where no block reaches over an edge, of the operand or of a part of K.
// A_OFFSETS, ...:   0 where a packed operand needs no offsets of its products.

#ifndef DEPTH
#define DEPTH 8
#endif
#ifndef GROUP_X
#define GROUP_X 16
#define GROUP_Y 16
#undef GROUP
#define GROUP __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
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

// Four elements side by side; zeros from `left` on.
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

// Vector `index` of a block, from `first` on along K: which it is depends on how the operand lies. `extent` is what there is of
// the operand from the block's first row or column on. A row of a block in local memory has a vector to spare, so that the
// four stores of a vector along K hit different banks.
#if A_FROM == ACROSS || B_FROM == ACROSS
static inline four_t fetch_across(const uint index, global const ELEMENT *from, const uint4 view, const uint extent,
                                  const uint width, const uint first, const uint last, const int aligned,
                                  const int whole)
{
    const uint at = index % (width / 4) * 4, step = first + index / (width / 4);
    return load_four(from + at + step * view.z, whole ? 4 : step < last && at < extent ? extent - at : 0, aligned);
}

static inline void keep_across(const uint index, local four_t *block, const uint width, const four_t values)
{
    block[index / (width / 4) * (width / 4 + 1) + index % (width / 4)] = values;
}
#endif
#if A_FROM == ALONG || B_FROM == ALONG
static inline four_t fetch_along(const uint index, global const ELEMENT *from, const uint4 view, const uint extent,
                                 const uint first, const uint last, const int aligned, const int whole)
{
    const uint at = index / (DEPTH / 4), step = first + index % (DEPTH / 4) * 4;
    return load_four(from + at * view.y + step, whole ? 4 : step < last && at < extent ? last - step : 0, aligned);
}

static inline void keep_along(const uint index, local four_t *block, const uint width, const four_t values)
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
#define A_KEEP(l) keep_along(item + 0x##l * ITEMS, a_block[to], BLOCK_M, a_next_##l);
#else
#define A_FETCH(l) a_next_##l = fetch_across(item + 0x##l * ITEMS, a, a_at, a_left, BLOCK_M, next, last, A_ALIGNED, A_WHOLE);
#define A_KEEP(l) keep_across(item + 0x##l * ITEMS, a_block[to], BLOCK_M, a_next_##l);
#endif
#if B_FROM == ALONG
#define B_FETCH(l) b_next_##l = fetch_along(item + 0x##l * ITEMS, b, b_at, b_left, next, last, B_ALIGNED, B_WHOLE);
#define B_KEEP(l) keep_along(item + 0x##l * ITEMS, b_block[to], BLOCK_N, b_next_##l);
#else
#define B_FETCH(l) b_next_##l = fetch_across(item + 0x##l * ITEMS, b, b_at, b_left, BLOCK_N, next, last, B_ALIGNED, B_WHOLE);
#define B_KEEP(l) keep_across(item + 0x##l * ITEMS, b_block[to], BLOCK_N, b_next_##l);
#endif
#define A_NEXT(l) four_t a_next_##l;
#define B_NEXT(l) four_t b_next_##l;
#define EACH_A_LOAD PASTE(TIMES_, A_LOADS)
#define EACH_B_LOAD PASTE(TIMES_, B_LOADS)

// The rows of a work-item at a step, side by side.
typedef JOIN(NUMBER, 4) quads_4;
typedef JOIN(NUMBER, 8) quads_8;
typedef JOIN(NUMBER, 16) quads_12;
typedef JOIN(NUMBER, 16) quads_16;
#define QUADS_4(step) step[0]
#define QUADS_8(step) (quads_8)(step[0], step[GROUP_Y])
#define QUADS_12(step) (quads_12)(step[0], step[GROUP_Y], step[2 * GROUP_Y], (four_t)(0))
#define QUADS_16(step) (quads_16)(step[0], step[GROUP_Y], step[2 * GROUP_Y], step[3 * GROUP_Y])

// Global size: work-groups that cover C; no work-item leaves early, as all of a group must reach every barrier.
kernel GROUP void gemm_local(global const ELEMENT *a, const uint4 a_at, global const ELEMENT *b, const uint4 b_at,
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
        EACH_A_LOAD(A_KEEP)
        EACH_B_LOAD(B_KEEP)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint from = 0;
    for (uint next = first + DEPTH; next < last + DEPTH; next += DEPTH) {
        // Past the end there is nothing to fetch.
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
        // Nobody may overwrite a block that another work-item still reads.
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        const uint to = (from + 1) % BUFFERS;
        if (next < last) {
            EACH_A_LOAD(A_KEEP)
            EACH_B_LOAD(B_KEEP)
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
#endif

#if KERNEL == VECTOR_K
// ---- A row of C that is a vector times B, B contiguous along K.
//
// Every element of B is read once and multiplied once, so what counts is how B is fetched: the work-items of a group read
// vectors that lie side by side, of VECTOR columns in turn, and the one vector of A serves them all. Sums are held in float
// also where halves are asked for: the loads take longer than that.
//
// WIDTH:      steps along K of a vector.
// ALIGNED:    1 where B's vectors are aligned to their size.
// SUB_GROUPS: 1 adds up within sub-groups in registers first.

#ifndef WIDTH
#define WIDTH 4
#endif
#ifndef ALIGNED
#define ALIGNED 0
#endif
#ifndef SUB_GROUPS
#define SUB_GROUPS 0
#endif
#ifndef ZERO_POINTS
#define ZERO_POINTS 0
#endif
#ifndef GROUP_X
#define GROUP_X 1
#define GROUP_Y 1
#endif
#if SUB_GROUPS && !defined(__opencl_c_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif

typedef JOIN(NUMBER, WIDTH) wide_t;

#if ZERO_POINTS
#define ZERO_PARAMETER , const int2 zeros
#define CENTRED(value, zero) ((value) - zeros.zero)
#else
#define ZERO_PARAMETER
#define CENTRED(value, zero) (value)
#endif

#if WIDTH == 2
#define EACH_WIDE TIMES_2
#define ADDED(v) (v.s0 + v.s1)
#elif WIDTH == 4
#define EACH_WIDE TIMES_4
#define ADDED(v) (v.s0 + v.s1 + (v.s2 + v.s3))
#elif WIDTH == 8
#define EACH_WIDE TIMES_8
#define ADDED(v) (v.s0 + v.s1 + (v.s2 + v.s3) + (v.s4 + v.s5 + (v.s6 + v.s7)))
#else
#define EACH_WIDE TIMES_16
#define ADDED(v) \
    (v.s0 + v.s1 + (v.s2 + v.s3) + (v.s4 + v.s5 + (v.s6 + v.s7)) + \
     (v.s8 + v.s9 + (v.sa + v.sb) + (v.sc + v.sd + (v.se + v.sf))))
#endif
#if ALIGNED
#define LOAD_B(from) LOAD_ALIGNED(WIDTH, from)
#else
#define LOAD_B(from) LOAD(WIDTH, from)
#endif

// A vector of A, whose elements may lie apart.
static inline wide_t steps_of(global const ELEMENT *from, const uint step)
{
    if (step == 1)
        return LOAD(WIDTH, from);
    wide_t values;
#define STEP_OF(l) values.s##l = LOAD1(from + 0x##l * step);
    EACH_WIDE(STEP_OF)
    return values;
}

// Global size: GROUP_X x groups of VECTOR columns x products; work-groups of GROUP_X work-items.
kernel GROUP void gemm_vector(global const ELEMENT *a, const uint4 a_at, global const ELEMENT *b, const uint4 b_at,
                              const uint k ZERO_PARAMETER, RESULT_PARAMETERS)
{
    const uint item = get_local_id(0);
    const uint column = get_global_id(1) * VECTOR;
    const uint batch = get_global_id(2);
    a += a_at.x + OFFSET(batch, OPERAND_A) + (size_t)batch * a_at.w;
    b += b_at.x + OFFSET(batch, OPERAND_B) + (size_t)batch * b_at.w;
#define BEGIN(l) \
    global const ELEMENT *const b_##l = b + min(column + 0x##l, n - 1) * b_at.z; \
    wide_t sum_##l = 0;
    EACH_LANE(BEGIN)
    const uint whole = k - k % WIDTH;
    for (uint i = item * WIDTH; i < whole; i += GROUP_X * WIDTH) {
        const wide_t wide = CENTRED(steps_of(a + i * a_at.z, a_at.z), x);
#define ADD(l) sum_##l += wide * CENTRED(LOAD_B(b_##l + i), y);
        EACH_LANE(ADD)
    }
    totals_t total;
#define ADD_UP(l) total.s##l = ADDED(sum_##l);
    EACH_LANE(ADD_UP)
    for (uint i = whole + item; i < k; i += GROUP_X) {
        const NUMBER one = CENTRED(LOAD1(a + i * a_at.z), x);
#define ADD_ONE(l) total.s##l += one * CENTRED(LOAD1(b_##l + i), y);
        EACH_LANE(ADD_ONE)
    }

#if SUB_GROUPS
#define REDUCE(l) total.s##l = sub_group_reduce_add(total.s##l);
    EACH_LANE(REDUCE)
    local totals_t totals[GROUP_X];
    if (get_sub_group_local_id() == 0)
        totals[get_sub_group_id()] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item > 0)
        return;
    for (uint other = 1; other < get_num_sub_groups(); ++other)
        total += totals[other];
#elif GROUP_X > 1
    // In halves: the same pairs in the same order each time.
    local totals_t totals[GROUP_X];
    for (uint pairs = GROUP_X / 2; pairs > 0; pairs /= 2) {
        totals[item] = total;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < pairs)
            total += totals[item + pairs];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item > 0)
        return;
#endif
    finish(total, 0, column, batch, RESULT_ARGUMENTS);
}
#endif

#if KERNEL == SUM
// ---- The second pass of a product whose K was cut into parts.
//
// Worth it where C has too few tiles to fill the device and K is long. Each element's parts are added in their order, so
// that the result does not depend on which was done first.
//
// Global size: vectors of a row of C x rows, rounded up to whole work-groups, x products.
kernel void gemm_sum(global const TOTAL *parts, const uint count, const uint batches, RESULT_PARAMETERS)
{
    const uint column = get_global_id(0) * VECTOR;
    const uint row = get_global_id(1);
    const uint batch = get_global_id(2);
    if (row >= m || column >= n)
        return;
    totals_t sum = 0;
    for (uint part = 0; part < count; ++part) {
        global const TOTAL *from = parts + ((size_t)(part * batches + batch) * m + row) * n + column;
#define SUM_LANE(l) \
    if (column + 0x##l < n) \
        sum.s##l += from[0x##l];
        EACH_LANE(SUM_LANE)
    }
    finish(sum, row, column, batch, RESULT_ARGUMENTS);
}
#endif
