// The end of every kernel: alpha, beta, the epilogue, and the store.
//
// A bias, an activation or a residual costs nothing here: the sums are still in registers. A pass of its own would read
// and write all of C again. Each stage is known when the program is built, so a stage is one line of arithmetic and a
// program without stages has none.
//
// STAGES, STAGE_0 ...: the stages in order, at most 6.
// PARTIAL:   1 stores plain sums of a part of K, which gemm_sum adds up; alpha, beta and the stages are applied there.
// SCALES:    of BYTES_SCALED, which multiplier and shift apply: one pair (0), one for each column (1) or row (2).
// OFFSETS:   1 reads where the products of a batch begin from a buffer: of A, B and C in turn, added to their views.
// TRANSPOSED: 1 when the kernel's A is the described B.

#ifndef PARTIAL
#define PARTIAL 0
#endif
#ifndef STAGES
#define STAGES 0
#endif
#ifndef OFFSETS
#define OFFSETS 0
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

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

// The operands of the stages: `side_0, at_0` and so on.
#define STAGE_LIST_0(X)
#define STAGE_LIST_1(X) X(0)
#define STAGE_LIST_2(X) STAGE_LIST_1(X) X(1)
#define STAGE_LIST_3(X) STAGE_LIST_2(X) X(2)
#define STAGE_LIST_4(X) STAGE_LIST_3(X) X(3)
#define STAGE_LIST_5(X) STAGE_LIST_4(X) X(4)
#define STAGE_LIST_6(X) STAGE_LIST_5(X) X(5)
#define EACH_STAGE PASTE(STAGE_LIST_, STAGES)
#define STAGE_PARAMETER(i) , global const SIDE *side_##i, const uint4 at_##i
#define STAGE_ARGUMENT(i) , side_##i, at_##i
#define STAGE_APPLY(i) values = staged(STAGE_##i, values, side_##i, at_##i, row, column, left, batch);

#if ELEMENTS == BYTES_SCALED && !PARTIAL
// `scales` holds multipliers and shifts; `limits` is the zero point of C, the least and the largest result.
#ifndef SCALES
#define SCALES 0
#endif
#define SCALE_PARAMETERS , global const int2 *scales, const int4 limits
#define SCALE_ARGUMENTS , scales, limits

// The integer nearest to value * multiplier / 2^shift, upwards from halfway. All in integers: the same on every device.
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

// The columns of `offsets`.
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
    OFFSET_PARAMETER SCALE_PARAMETERS EACH_STAGE(STAGE_PARAMETER)
#define RESULT_ARGUMENTS c, c_at, m, n, alpha, beta OFFSET_ARGUMENT SCALE_ARGUMENTS EACH_STAGE(STAGE_ARGUMENT)

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

// One stage. `kind` is a constant, so one branch remains. Comparisons leave NaN as NaN.
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
#endif

// Stores a vector of sums of a row of C, from `column` on; elements outside C are not stored.
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
    EACH_STAGE(STAGE_APPLY)
#if ELEMENTS == BYTES_SCALED && !PARTIAL
#define SCALE_OF(l) scales[SCALES == 0 ? 0 : SCALES == 2 ? row : min(column + 0x##l, n - 1)]
#define RESCALE_LANE(l) values.s##l = rescaled(values.s##l, SCALE_OF(l), limits);
    EACH_LANE(RESCALE_LANE)
    const JOIN(char, VECTOR) stored = JOIN(convert_char, VECTOR)(values);
#else
    const totals_t stored = values;
#endif
    if (left >= VECTOR && c_at.z == 1) {
        PUT_ALL(stored, to);
        return;
    }
    // Lane by lane: an index that is only known at run time would put the vector into memory.
#define PUT_LANE(l) \
    if (0x##l < left) \
        PUT(stored.s##l, to + 0x##l * c_at.z);
    EACH_LANE(PUT_LANE)
}

// The third dimension of a launch is the part of K times the product of the batch. Sums of parts are stored one part
// after the other.
#define PART_PARAMETERS const uint k, const uint k_part, const uint batches
#if PARTIAL
#define RESULT_BATCH z
#else
#define RESULT_BATCH batch
#endif
