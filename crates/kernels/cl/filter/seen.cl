// What the window sees of a vector: its elements, converted before if there is a conversion.
//
// A stage that looks at one pixel only and comes before a window costs no pass of its own: it is applied to what is
// loaded.
//
// BEFORE: CONVERT is a conversion, times BEFORE_SCALE, plus BEFORE_OFFSET, each rounded to float.

#define CONVERT 1
#ifndef BEFORE
#define BEFORE 0
#define BEFORE_SCALE 1.0f
#define BEFORE_OFFSET 0.0f
#endif
#ifndef SPREAD
#define SPREAD 1
#endif

#if BEFORE == CONVERT
static Work load(ROW, const int at)
{
    const Floats value = convert_Floats(RAW(at)) * BEFORE_SCALE + BEFORE_OFFSET;
#if SEEN_INTEGER
    return convert_Work(JOIN(JOIN(convert_, VECTOR(SEEN)), _sat_rte)(value));
#else
    return convert_Work(value);
#endif
}

static WORK load_one(global const FROM *at)
{
    const float value = (float)RAW_ONE(at) * BEFORE_SCALE + BEFORE_OFFSET;
#if SEEN_INTEGER
    return (WORK)JOIN(JOIN(convert_, SEEN), _sat_rte)(value);
#else
    return (WORK)value;
#endif
}
#else
static Work load(ROW, const int at)
{
    return convert_Work(RAW(at));
}

static WORK load_one(global const FROM *at)
{
    return (WORK)RAW_ONE(at);
}
#endif
