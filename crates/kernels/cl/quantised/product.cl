// y = x W for one or a few vectors x, with the weights of `weights.cl`.
//
// A work-item computes OUTPUTS neighbouring elements of y for VECTORS vectors: a weight that is loaded and unpacked
// once serves all vectors. All work-items of a group read the same x, so its loads cost one for a group.
//
// One work-item per output is far too few for a GPU: a layer has thousands of outputs, a phone's GPU wants tens of
// thousands of work-items. So PARTS work-items share the blocks along K of the same outputs, in turn, and their sums
// are added up in local memory, in the same order each time.
//
// The scale of a block is applied to its sum, not to each weight.
//
// GROUP:  work-items of a group along the outputs. PARTS: along K, a power of two.
// HALVES: 1 for x and y in half precision, which is only loaded and stored; sums are in float.
// TAIL:   1 if K is not a multiple of 32: the last block reads past the end of x unless it is guarded.

#ifndef VECTORS
#define VECTORS 1
#endif
#ifndef GROUP
#define GROUP 16
#endif
#ifndef PARTS
#define PARTS 4
#endif
#ifndef HALVES
#define HALVES 0
#endif
#ifndef TAIL
#define TAIL 0
#endif
#define EACH_VECTOR PASTE(TIMES_, VECTORS)

#if HALVES
#define NUMBER half
#define GET_X(at) vload_half(0, at)
#define GET_X8(at) vload_half8(0, at)
#define PUT_Y(value, at) vstore_half_rte(value, 0, at)
#define PUT_LANES(values, at) JOIN(JOIN(vstore_half, OUTPUTS), _rte)(values, 0, at)
#else
#define NUMBER float
#define GET_X(at) (*(at))
#define GET_X8(at) vload8(0, at)
#define PUT_Y(value, at) (*(at) = (value))
#define PUT_LANES(values, at) JOIN(vstore, OUTPUTS)(values, 0, at)
#endif

#if FORMAT == I8
#define SCALES_TYPE float
#else
#define SCALES_TYPE half
#endif
#if FORMAT == I8
#define SCALE(line) (*(global const lanes_t *)(scales + (line) * pitch + column))
#elif OUTPUTS == 1
#define SCALE(line) vload_half((line) * pitch + column, scales)
#else
#define SCALE(line) JOIN(vloada_half, OUTPUTS)(0, scales + (line) * pitch + column)
#endif

// Eight steps of x, with zeros after the end.
static inline float8 steps_of(global const NUMBER *x, const uint l, const uint k)
{
#if TAIL
    if (l + 8 > k) {
        float8 steps = 0;
#define ONE_STEP(i) \
    if (l + 0x##i < k) \
        steps.s##i = GET_X(x + l + 0x##i);
        TIMES_8(ONE_STEP)
        return steps;
    }
#endif
    return GET_X8(x + l);
}

static inline void put(const lanes_t values, global NUMBER *y, const uint count)
{
#if OUTPUTS == 1
    PUT_Y(values, y);
#else
    if (count >= OUTPUTS) {
        PUT_LANES(values, y);
        return;
    }
#define PUT_ONE(i) \
    if (0x##i < count) \
        PUT_Y(values.s##i, y + 0x##i);
    PASTE(TIMES_, OUTPUTS)(PUT_ONE)
#endif
}

// Global size: outputs / OUTPUTS, rounded up to whole groups, x PARTS x vectors / VECTORS. `x_at` and `y_at` are the
// first element and the distance from vector to vector. `scales` is null for F16.
kernel __attribute__((reqd_work_group_size(GROUP, PARTS, 1)))
void quantised_product(global const NUMBER *x, const uint2 x_at, WEIGHTS_TYPE weights,
                       global const SCALES_TYPE *scales, const uint pitch, global NUMBER *y, const uint2 y_at,
                       const uint m, const uint n, const uint k)
{
    const uint item = get_local_id(0);
    const uint part = get_local_id(1);
    const uint output = get_global_id(0) * OUTPUTS;
    // Work-items past the last output compute what others compute, and store nothing.
    const uint column = min(output, pitch - OUTPUTS);
    const uint vector = get_global_id(2) * VECTORS;
#define BEGIN(v) \
    global const NUMBER *const x_##v = x + x_at.x + min(vector + 0x##v, m - 1) * x_at.y; \
    lanes_t total_##v = 0;
    EACH_VECTOR(BEGIN)

    for (uint block = part; block * 32 < k; block += PARTS) {
#if MASKS
#define BEGIN_BLOCK(v) \
    lanes_t sum_##v = 0; \
    float x_sum_##v = 0;
#else
#define BEGIN_BLOCK(v) lanes_t sum_##v = 0;
#endif
        EACH_VECTOR(BEGIN_BLOCK)
        for (uint chunk = 4 * block; chunk < 4 * block + 4; ++chunk) {
            LOAD_WEIGHTS
#if MASKS
            const float8 smaller =
                (float8)(1.0f, 0x1p-4f, 0x1p-8f, 0x1p-12f, 0x1p-16f, 0x1p-20f, 0x1p-24f, 0x1p-28f);
#define PREPARE(v, steps) \
    x_sum_##v += steps.s0 + steps.s1 + (steps.s2 + steps.s3); \
    x_sum_##v += steps.s4 + steps.s5 + (steps.s6 + steps.s7); \
    steps *= smaller;
#else
#define PREPARE(v, steps)
#endif
#define ADD_STEPS(v) \
    { \
        float8 steps = steps_of(x_##v, 8 * chunk, k); \
        PREPARE(v, steps) \
        sum_##v += w_0 * steps.s0; \
        sum_##v += w_1 * steps.s1; \
        sum_##v += w_2 * steps.s2; \
        sum_##v += w_3 * steps.s3; \
        sum_##v += w_4 * steps.s4; \
        sum_##v += w_5 * steps.s5; \
        sum_##v += w_6 * steps.s6; \
        sum_##v += w_7 * steps.s7; \
    }
            EACH_VECTOR(ADD_STEPS)
        }
#if FORMAT == F16 || FORMAT == I8
#define END_BLOCK(v) total_##v += sum_##v;
#else
        const lanes_t scale = SCALE(block);
#if MASKS
#define END_BLOCK(v) total_##v += scale * (sum_##v - 8.0f * x_sum_##v);
#else
#define END_BLOCK(v) total_##v += scale * sum_##v;
#endif
#endif
        EACH_VECTOR(END_BLOCK)
    }

#if PARTS > 1
    local lanes_t totals[PARTS * GROUP];
#define ADD_PARTS(v) \
    barrier(CLK_LOCAL_MEM_FENCE); \
    totals[part * GROUP + item] = total_##v; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (part == 0) \
        for (uint other = 1; other < PARTS; ++other) \
            total_##v += totals[other * GROUP + item];
    EACH_VECTOR(ADD_PARTS)
    if (part > 0)
        return;
#endif
    if (output >= n)
        return;
#if FORMAT == I8
    const lanes_t scale = SCALE(0);
#define STORED(v) (total_##v * scale)
#else
#define STORED(v) total_##v
#endif
#define STORE(v) \
    if (vector + 0x##v < m) \
        put(STORED(v), y + y_at.x + (vector + 0x##v) * y_at.y + output, n - output);
    EACH_VECTOR(STORE)
}
