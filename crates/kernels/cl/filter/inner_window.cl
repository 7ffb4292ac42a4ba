// The inner window: a window whose results another window sees, in the same pass.
//
// INNER_OPERATION: LINEAR, LEAST or MOST. The other macros are those of the outer window (window.cl, store.cl).
// INNER_CLAMPED:   1 when results and copied pixels are limited to INNER_LEAST .. INNER_MOST.
// INNER_OUTSIDE:   the value outside what the inner window makes, for the border CONSTANT.

#ifndef INNER
#define INNER 1
#define INNER_OPERATION LINEAR
#define INNER_FINAL short
#define INNER_WIDTH 3
#define INNER_HEIGHT 3
#define INNER_KINDS 1
#define INNER_ACROSS W(1)W(2)W(1)
#define INNER_KIND W(0)W(0)W(0)
#define INNER_DOWN W(1)W(2)W(1)
#define INNER_START 0
#define INNER_DIVISOR 16
#define INNER_SHIFT 4
#define INNER_NEGATIVE 0
#define INNER_OFFSET 0
#define INNER_CLAMPED 0
#define INNER_LEAST 0
#define INNER_MOST 255
#endif
#ifndef INNER_OUTSIDE
#define INNER_OUTSIDE 0
#endif

#define INNER_RADIUS_X (INNER_WIDTH / 2)
#define INNER_RADIUS_Y (INNER_HEIGHT / 2)
