// Macros that every family uses.
//
// OpenCL C has no templates: a kernel for several element types and vector widths is written once over macros, and the
// build chooses with -D. JOIN makes one name of two, after expanding both: JOIN(float, 4) is float4.

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

// Loops with constant bounds are unrolled, so that constants fold and small arrays become registers. A loop that only
// the work-items at an edge run is kept: unrolled, it would only take space in the instruction cache.
#define UNROLL_LOOP _Pragma("unroll")
#define KEEP_LOOP _Pragma("nounroll")
