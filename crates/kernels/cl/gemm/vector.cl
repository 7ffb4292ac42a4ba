// A row of C: a vector times B, with B contiguous along K.
//
// Every element of B is read once and multiplied once, so only the loads of B count: the work-items of a group read
// neighbouring vectors, of VECTOR columns in turn, and one vector of A serves all columns. Sums of halves are in float:
// that costs nothing, as the loads take longer.
//
// WIDTH:      steps along K of a vector.
// ALIGNED:    1 when B's vectors are aligned to their size.
// SUB_GROUPS: 1 first adds up within sub-groups, in registers.
// ZERO_POINTS: bytes only: 1 subtracts the zero points of A and B.

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

// A vector of A, whose elements may be `step` apart.
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
kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void gemm_vector(global const ELEMENT *a, const uint4 a_at, global const ELEMENT *b, const uint4 b_at,
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
    // In halves: the same pairs in the same order each time, so the result is reproducible.
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
