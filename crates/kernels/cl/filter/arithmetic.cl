// Sums, extremes and rounding.
//
// A weighted sum, an erosion and a dilation walk through the same elements in the same way; they differ in the
// operation that joins two of them. `operation` is a constant wherever these functions are called, so one line of
// `taken` remains.

#define LINEAR 0
#define GRADIENT 1
#define LEAST 2
#define MOST 3
#define MEDIAN 4

// a * b + c, fused or not, whichever is faster.
#if WORK_FLOAT
#define MULTIPLY_ADD(a, b, c) mad((Work)(a), b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

// The smaller and the larger element, NaN if either is one: `min` and `max` of float leave that open.
#if WORK_FLOAT
#define LEAST_OF(a, b) select(a, b, ((b) < (a)) | ((b) != (b)))
#define MOST_OF(a, b) select(a, b, ((b) > (a)) | ((b) != (b)))
#else
#define LEAST_OF(a, b) min(a, b)
#define MOST_OF(a, b) max(a, b)
#endif

// What a window makes of its elements so far and one more, or of its rows so far and one more.
static Work taken(const int operation, const Work so_far, const WORK weight, const Work value)
{
    if (operation == LEAST)
        return LEAST_OF(so_far, value);
    if (operation == MOST)
        return MOST_OF(so_far, value);
    return MULTIPLY_ADD(weight, value, so_far);
}

#if !WORK_FLOAT
// floor((sum + divisor / 2) / divisor); `shift` is the divisor's logarithm or -1.
static Work divided(Work sum, const uint divisor, const int shift, const bool negative)
{
    typedef VECTOR(SIGNED_WORK) Signed;
    typedef VECTOR(UNSIGNED_WORK) Unsigned;
    sum += (WORK)(divisor / 2);
    if (shift == 0)
        return sum;
    if (!negative) {
        const Unsigned whole = JOIN(as_, VECTOR(UNSIGNED_WORK))(sum);
        return as_Work(shift > 0 ? whole >> (UNSIGNED_WORK)shift : whole / (UNSIGNED_WORK)divisor);
    }
    const Signed whole = JOIN(as_, VECTOR(SIGNED_WORK))(sum);
    if (shift > 0)
        return as_Work(whole >> (SIGNED_WORK)shift);
    // Division rounds towards 0: with a remainder below 0 the quotient is one too large.
    const Signed quotient = whole / (SIGNED_WORK)divisor;
    return as_Work(quotient + ((whole - quotient * (SIGNED_WORK)divisor) >> (SIGNED_WORK)(8 * sizeof(WORK) - 1)));
}
#endif
