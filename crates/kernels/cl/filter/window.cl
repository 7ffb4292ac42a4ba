// The window of a filter.
//
// Row dy of the window is DOWN[dy] times row KIND[dy] of ACROSS. Rows that are multiples of each other share a kind: an
// outer product (a blur) has one kind, Laplace's window two. The sum of a kind over a row of the image is computed once
// and serves every row of the window that has this kind, and every result above and below. Lists are written
// W(1)W(-2)W(1); the compiler sees constants, so weights of 0 vanish, and weights of 1 and -1 need no multiplication.
//
// A row of the image is a row of elements: with C channels side by side, the neighbour of a pixel's channel is C
// elements (STEP) away, whatever the channel, and channels never mix.
//
// WIDTH, HEIGHT: extents, both odd.
// STEP:          elements from a pixel to its neighbour.
// KEEP_ALPHA:    1 when every fourth element is alpha, which is copied.
// ROWS:          rows that a work-item computes. Their windows overlap, so ROWS + HEIGHT - 1 loaded rows serve them
//                all.

#define W(number) number,
#ifndef WIDTH
#define WIDTH 3
#define HEIGHT 3
#define KINDS 1
#define ACROSS W(1)W(2)W(1)
#define KIND W(0)W(0)W(0)
#define DOWN W(1)W(2)W(1)
#endif
#ifndef STEP
#define STEP 3
#define KEEP_ALPHA 0
#endif
#ifndef ROWS
#define ROWS 4
#endif

#define RADIUS_X (WIDTH / 2)
#define RADIUS_Y (HEIGHT / 2)
#define ROWS_IN (ROWS + HEIGHT - 1)
