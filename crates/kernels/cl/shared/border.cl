// Pixels outside the image.
//
// A window near an edge reaches over it. Each way of BORDER names a position inside the image to read instead (or no
// position, for CONSTANT), and a position inside stands for itself: one unsigned comparison tests both ends. Few
// work-items take the other branch.
//
// OUTSIDE: the value outside, for CONSTANT.

#define NONE 0 // a pixel whose window leaves the image is copied
#define CONSTANT 1
#define REPLICATE 2
#define REFLECT 3
#define REFLECT_101 4
#define WRAP 5
#ifndef BORDER
#define BORDER REFLECT_101
#define OUTSIDE 0
#endif

// The position in 0 .. extent - 1 to read for `place`, which is outside; -1 for the constant.
static int fold_outside(int place, const int extent)
{
#if BORDER == CONSTANT
    return -1;
#elif BORDER == REFLECT
    place %= 2 * extent;
    place = place < 0 ? place + 2 * extent : place;
    return min(place, 2 * extent - 1 - place);
#elif BORDER == REFLECT_101
    const int period = max(2 * extent - 2, 1);
    place %= period;
    place = place < 0 ? place + period : place;
    return min(place, period - place);
#elif BORDER == WRAP
    place %= extent;
    return place < 0 ? place + extent : place;
#else
    return clamp(place, 0, extent - 1);
#endif
}

static int fold(const int place, const int extent)
{
    return (uint)place < (uint)extent ? place : fold_outside(place, extent);
}
