// C = alpha A B + beta C, then an epilogue: the elements.
//
// A is m x k, B is k x n, C is m x n. A view `at` of a matrix is (offset, distance from row to row, from column to
// column, from product to product of a batch), in elements. The kernels assume that the columns of C are contiguous
// where it matters; for a C that is stored the other way, the product of the transposes is computed.
//
// Four types describe the arithmetic: ELEMENT is stored in A and B, NUMBER is multiplied, SUMMED is what products are
// added up in, TOTAL is held across K. They differ where that is faster or more accurate: half is half the memory
// traffic and twice the lanes of float, but a sum of many halves loses its small terms. So halves can be summed in
// float, or in half for CHUNK steps at a time and in float across them.
//
// Edges. Work-items at the edge read their last row or column again, or zeros, and store only what is inside C. What
// they compute outside C may be anything, NaN included. K is never padded on one side alone: 0 * inf is NaN.
//
// ELEMENTS:  FLOATS, HALVES (summed in half), HALVES_IN_FLOAT, HALVES_CHUNKED (half within CHUNK steps along K, float
//            across them), BYTES (result int), BYTES_SCALED (result char).
// FMA:       1 requires fma(). It runs at full rate on Bifrost, Valhall and desktop GPUs, at a quarter of it on
//            Midgard; on Adreno 6xx it is emulated and over 20 times slower. a * b + c lets the compiler choose.
// SHORT_PRODUCTS: 1 multiplies bytes in 16 bits, which hold their products: a vector unit has twice the lanes and a
//                 cheaper multiplication, at the price of a conversion before the sum.

#define FLOATS 0
#define HALVES 1
#define HALVES_IN_FLOAT 2
#define HALVES_CHUNKED 3
#define BYTES 4
#define BYTES_SCALED 5
#ifndef ELEMENTS
#define ELEMENTS FLOATS
#endif
#ifndef FMA
#define FMA 0
#endif
#ifndef SHORT_PRODUCTS
#define SHORT_PRODUCTS 0
#endif
#ifndef CHUNK
#define CHUNK 32
#endif

// A tile of C has ROWS rows of VECTORS vectors of VECTOR elements.
#ifndef ROWS
#define ROWS 4
#endif
#ifndef VECTOR
#define VECTOR 4
#endif
#ifndef VECTORS
#define VECTORS 1
#endif
#define EACH_ROW PASTE(TIMES_, ROWS)
#define EACH_LANE PASTE(TIMES_, VECTOR)
// A macro does not expand within itself, so nested repetitions need lists of their own.
#define EACH_VECTOR_1(X, r) X(r, 0)
#define EACH_VECTOR_2(X, r) EACH_VECTOR_1(X, r) X(r, 1)
#define EACH_VECTOR_3(X, r) EACH_VECTOR_2(X, r) X(r, 2)
#define EACH_VECTOR_4(X, r) EACH_VECTOR_3(X, r) X(r, 3)
#define EACH_VECTOR PASTE(EACH_VECTOR_, VECTORS)

#if ELEMENTS == HALVES || ELEMENTS == HALVES_CHUNKED
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

#if ELEMENTS == FLOATS
#define ELEMENT float
#define NUMBER float
#define TOTAL float
#elif ELEMENTS == HALVES
#define ELEMENT half
#define NUMBER half
#define TOTAL half
#elif ELEMENTS == HALVES_IN_FLOAT
#define ELEMENT half
#define NUMBER float
#define TOTAL float
#elif ELEMENTS == HALVES_CHUNKED
#define ELEMENT half
#define NUMBER half
#define TOTAL float
#else
#define ELEMENT char
#if SHORT_PRODUCTS
#define NUMBER short
#else
#define NUMBER int
#endif
#define TOTAL int
#endif
// The types of sums, and of alpha and beta.
#if ELEMENTS >= BYTES
#define SUMMED int
#define SCALAR int
#else
#define SUMMED NUMBER
#define SCALAR float
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
