// Results: rounding, conversion, and the store.
//
// Integers: floor((sum + DIVISOR / 2) / DIVISOR) + OFFSET. For a power of two, SHIFT is its logarithm and a shift
// divides; otherwise SHIFT is -1, and NEGATIVE says whether sums can be negative. Other results: sum * SCALE + OFFSET
// in float, each rounded.
//
// AFTER: CONVERT is a conversion that follows in the same pass: times AFTER_SCALE, plus AFTER_OFFSET, each rounded to
//        float.
// ALIGNED_TO: 1 when results are at multiples of a vector's size. They are then moved as words, STORED_BLOCK: some
//             compilers move uchar16 in pieces.

#ifndef DIVISOR
#define DIVISOR 16
#define SHIFT 4
#define NEGATIVE 0
#define OFFSET 0
#define SCALE 1.0f
#endif
#define CONVERT 1
#ifndef AFTER
#define AFTER 0
#define AFTER_SCALE 1.0f
#define AFTER_OFFSET 0.0f
#endif
#ifndef ALIGNED_TO
#define ALIGNED_TO 0
#define STORED_BLOCK uint4
#endif

// The window's result; half is held as float.
#if TO_HALF
typedef Floats Result;
#define convert_Result convert_Floats
#else
typedef VECTOR(TO) Result;
#define convert_Result JOIN(convert_, VECTOR(TO))
#endif

#if STORED_HALF
typedef Floats Stored;
typedef float StoredLane;
#define STORE_ONE(value, at) vstore_half_rte(value, 0, at)
#define STORE_UNALIGNED(value, at) JOIN(JOIN(vstore_half, LANES), _rte)(value, 0, at)
#define STORE_ALIGNED(value, at) JOIN(JOIN(vstorea_half, LANES), _rte)(value, 0, at)
#else
typedef VECTOR(STORED) Stored;
typedef STORED StoredLane;
#define STORE_ONE(value, at) *(at) = value
#define STORE_UNALIGNED(value, at) JOIN(vstore, LANES)(value, 0, at)
#define STORE_ALIGNED(value, at) *(global STORED_BLOCK *)(at) = JOIN(as_, STORED_BLOCK)(value)
#endif
#if ALIGNED_TO
#define STORE(value, at) STORE_ALIGNED(value, at)
#else
#define STORE(value, at) STORE_UNALIGNED(value, at)
#endif

// The window's result in the form that is stored.
static Stored stored(const Result result)
{
#if AFTER == CONVERT
    const Floats value = convert_Floats(result) * AFTER_SCALE + AFTER_OFFSET;
#if STORED_INTEGER
    return JOIN(JOIN(convert_, VECTOR(STORED)), _sat_rte)(value);
#else
    return value;
#endif
#else
    return result;
#endif
}

// A copied element in the result's type.
static Result copied(const Work value)
{
#if TO_INTEGER && WHOLE
    return JOIN(convert_Result, _sat)(value);
#elif TO_INTEGER
    return JOIN(convert_Result, _sat_rte)(value);
#else
    return convert_Result(value);
#endif
}

// A sum in the result's type.
static Result finished(const Work sum)
{
#if WHOLE
    Final value = as_Final(divided(sum, DIVISOR, SHIFT, NEGATIVE));
#if OFFSET != 0
    value = add_sat(value, (Final)OFFSET);
#endif
    return JOIN(convert_Result, _sat)(value);
#else
    const Floats value = convert_Floats(as_Final(sum)) * SCALE + OFFSET;
#if TO_INTEGER
    return JOIN(convert_Result, _sat_rte)(value);
#else
    return value;
#endif
#endif
}

// Stores the elements that are inside the image. `centre` has the source's own elements.
static void store_row(global STORED *result, const Work sum, const Work centre, const int x, const int y,
                      const int width, const int height, const bool inside)
{
    Result value = finished(sum);
#if BORDER == NONE
    const bool row_outside = y < RADIUS_Y || y >= height - RADIUS_Y;
    if (row_outside)
        value = copied(centre);
#endif
#if KEEP_ALPHA
    value.ALPHA = copied(centre).ALPHA;
#endif
    if (inside) {
        STORE(stored(value), result + x);
        return;
    }
    StoredLane lanes[LANES];
    JOIN(vstore, LANES)(stored(value), 0, lanes);
#if BORDER == NONE
    StoredLane kept_lanes[LANES];
    JOIN(vstore, LANES)(stored(copied(centre)), 0, kept_lanes);
    KEEP_LOOP
    for (int i = 0; i < LANES; ++i) {
        const int pixel = (x + i) / STEP;
        if (pixel < RADIUS_X || pixel >= width - RADIUS_X)
            lanes[i] = kept_lanes[i];
    }
#endif
    KEEP_LOOP
    for (int i = 0; i < min(LANES, width * STEP - x); ++i)
        STORE_ONE(lanes[i], result + x + i);
}
