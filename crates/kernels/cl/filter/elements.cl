// The elements of a window filter: loaded as FROM, computed as vectors of WORK, stored as STORED.
//
// The type of the sums decides the speed. Sums of bytes often fit 16 bits: that is half the registers of int, and on
// 128-bit vector units (Midgard) and on lanes that take two shorts (Bifrost, Valhall, Adreno) half the instructions.
// The host proves that every partial sum fits, and chooses WORK.
//
// FROM, TO, STORED: element types of the source, of the window's result, and of the result's buffer. TO and STORED
//                   differ when a conversion follows in the same pass.
// FROM_HALF, TO_HALF, STORED_HALF: 1 for half, which is loaded into float.
// WORK:        the type of the computation. FINAL: what sums are read as in the end: with an inner window, WORK holds
//              the sums of both, and ushort, in which sums of shorts wrap around, may be short in the end.
// WORK_FLOAT:  whether WORK is float. TO_INTEGER: whether the result is an integer. WHOLE: whether it is an integer
//              made of integer sums.
// SEEN:        the element type that the window sees: a conversion may come before it in the same pass.
// LANES:       elements of a row that a work-item computes, as one vector.

#ifndef FROM
#define FROM uchar
#define TO uchar
#define WORK ushort
#define FINAL ushort
#define SIGNED_WORK short
#define UNSIGNED_WORK ushort
#endif
#ifndef FROM_HALF
#define FROM_HALF 0
#define TO_HALF 0
#endif
#ifndef WORK_FLOAT
#define WORK_FLOAT 0
#define TO_INTEGER 1
#define WHOLE 1
#endif
#ifndef SEEN
#define SEEN uchar
#define SEEN_INTEGER 1
#endif
#ifndef STORED
#define STORED uchar
#define STORED_HALF 0
#define STORED_INTEGER 1
#endif
#ifndef LANES
#define LANES 16
#endif

// Scales and offsets are rounded one after the other, on every device: no compiler may fuse them on its own.
#pragma OPENCL FP_CONTRACT OFF

#define VECTOR(type) JOIN(type, LANES)
typedef VECTOR(WORK) Work;
typedef VECTOR(FINAL) Final;
#define convert_Work JOIN(convert_, VECTOR(WORK))
#define as_Work JOIN(as_, VECTOR(WORK))
#define as_Final JOIN(as_, VECTOR(FINAL))
#define Floats VECTOR(float)
#define convert_Floats JOIN(convert_, Floats)

// Lanes of alpha.
#if LANES == 4
#define ALPHA s3
#elif LANES == 8
#define ALPHA s37
#else
#define ALPHA s37bf
#endif
