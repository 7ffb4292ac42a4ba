// Gray, made of R G B (A) while they are loaded.
//
// The image of gray pixels never exists in memory. LANES gray pixels are as many vectors as a pixel has channels;
// swizzles pick each channel out of all of them.
//
// BEFORE: GRAY or GRAY_BGR, the order of the channels. SPREAD: channels of a pixel, 3 or 4.

#define GRAY 2
#define GRAY_BGR 3
#ifndef BEFORE
#define BEFORE GRAY
#define SPREAD 3
#endif

#if SEEN_INTEGER
#define LUMA LUMA_15
#define Part int
#else
#define LUMA LUMA_FLOAT
#define Part float
#endif
#define Parts VECTOR(Part)
#define convert_Parts JOIN(convert_, VECTOR(Part))

// Every third lane (three channels) or every fourth, from the first, the second and the third on.
#if SPREAD == 4
#if LANES == 16
#define PICK_0(v) v.s048c
#define PICK_1(v) v.s159d
#define PICK_2(v) v.s26ae
#elif LANES == 8
#define PICK_0(v) v.s04
#define PICK_1(v) v.s15
#define PICK_2(v) v.s26
#else
#define PICK_0(v) v.s0
#define PICK_1(v) v.s1
#define PICK_2(v) v.s2
#endif
#else
#if LANES == 16
#define PICK_0(v) v.s0369, v.scf
#define PICK_1(v) v.s147a, v.sd
#define PICK_2(v) v.s258b, v.se
#elif LANES == 8
#define PICK_0(v) v.s036
#define PICK_1(v) v.s147
#define PICK_2(v) v.s25
#else
#define PICK_0(v) v.s03
#define PICK_1(v) v.s1
#define PICK_2(v) v.s2
#endif
#endif

// LANES pixels are as many vectors as they have channels; each channel is picked out of all of them.
static Work load(ROW, const int at)
{
    const Parts a = convert_Parts(RAW(at)), b = convert_Parts(RAW(at + LANES)), c = convert_Parts(RAW(at + 2 * LANES));
#if SPREAD == 4
    const Parts d = convert_Parts(RAW(at + 3 * LANES));
    const Parts first = (Parts)(PICK_0(a), PICK_0(b), PICK_0(c), PICK_0(d));
    const Parts second = (Parts)(PICK_1(a), PICK_1(b), PICK_1(c), PICK_1(d));
    const Parts third = (Parts)(PICK_2(a), PICK_2(b), PICK_2(c), PICK_2(d));
#elif LANES == 8
    const Parts first = (Parts)(PICK_0(a), PICK_1(b), PICK_2(c));
    const Parts second = (Parts)(PICK_1(a), PICK_2(b), PICK_0(c));
    const Parts third = (Parts)(PICK_2(a), PICK_0(b), PICK_1(c));
#else
    const Parts first = (Parts)(PICK_0(a), PICK_2(b), PICK_1(c));
    const Parts second = (Parts)(PICK_1(a), PICK_0(b), PICK_2(c));
    const Parts third = (Parts)(PICK_2(a), PICK_1(b), PICK_0(c));
#endif
#if BEFORE == GRAY
    return convert_Work(LUMA(first, second, third));
#else
    return convert_Work(LUMA(third, second, first));
#endif
}

static WORK load_one(global const FROM *at)
{
    const Part first = at[0], second = at[1], third = at[2];
#if BEFORE == GRAY
    return (WORK)LUMA(first, second, third);
#else
    return (WORK)LUMA(third, second, first);
#endif
}
