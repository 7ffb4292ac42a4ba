// The columns of a window, from few loads.
//
// A window of WIDTH columns needs WIDTH vectors of a row, each STEP elements further right. They overlap: the
// elements of all of them are in as few vectors as hold the row. So a work-item loads these once, and puts each
// column together from two of them by a swizzle, which costs little or nothing, while a load occupies the load/store
// pipe.
//
// LOADS: how the elements left and right of a vector are loaded.
//   DIRECT   one load for each column, at any address: CPUs, and GPUs whose caches serve them.
//   SHARED   as few loads as hold all columns, and swizzles.
//   ALIGNED  as SHARED, from vectors at multiples of their size: for GPUs that read vectors at other addresses byte
//            by byte.
//   IMAGE    as SHARED, from an image over the buffer, four elements in a texel: for GPUs that cache no other loads.

#define DIRECT 0
#define SHARED 1
#define ALIGNED 2
#define IMAGE 3
#ifndef LOADS
#define LOADS SHARED
#endif
#ifndef INNER
#define INNER 0
#endif

#define SIDE (RADIUS_X * STEP)
#if INNER
#define INNER_SIDE (INNER_RADIUS_X * STEP)
#else
#define INNER_SIDE 0
#endif

// The loaded elements of a row: LOADED_PARTS vectors, the first of which starts LOADED_FIRST elements left of the
// work-item's own.
#if LOADS == ALIGNED
#define LOADED_FIRST ((SIDE + INNER_SIDE + LANES - 1) / LANES * LANES)
#elif LOADS == IMAGE
#define LOADED_FIRST ((SIDE + INNER_SIDE + 3) / 4 * 4)
#else
#define LOADED_FIRST (SIDE + INNER_SIDE)
#endif
#if LOADS != DIRECT
#define LOADED_PARTS ((LOADED_FIRST + INNER_SIDE + SIDE + 2 * LANES - 1) / LANES)
#define LOADED_AT(part) ((part) * LANES - LOADED_FIRST)
#elif INNER
#define LOADED_PARTS (PARTS * INNER_WIDTH)
#define LOADED_AT(part) ((part) / INNER_WIDTH * LANES + (part) % INNER_WIDTH * STEP - LOADED_FIRST)
#else
#define LOADED_PARTS WIDTH
#define LOADED_AT(part) ((part) * STEP - LOADED_FIRST)
#endif
#define REACH (LOADED_AT(LOADED_PARTS - 1) + LANES)
// What the window sees of a row: PARTS vectors from FIRST elements left of the work-item's own on.
#if INNER
#define FIRST SIDE
#define PARTS ((2 * SIDE + 2 * LANES - 1) / LANES)
#else
#define FIRST LOADED_FIRST
#define PARTS LOADED_PARTS
#endif

typedef struct {
    Work part[LOADED_PARTS];
} Loaded;

#if INNER
typedef struct {
    Work part[PARTS];
} Row;
#else
typedef Loaded Row;
#endif

#if LOADS != DIRECT || INNER
// Lanes k .. k + LANES - 1 of two neighbouring vectors; k is known at compile time.
static Work shifted(const Work a, const Work b, const int k)
{
    switch (k) {
#if LANES == 2
    case 1: return (Work)(a.s1, b.s0);
#elif LANES == 4
    case 1: return (Work)(a.s123, b.s0);
    case 2: return (Work)(a.s23, b.s01);
    case 3: return (Work)(a.s3, b.s012);
#elif LANES == 8
    case 1: return (Work)(a.s1234, a.s567, b.s0);
    case 2: return (Work)(a.s2345, a.s67, b.s01);
    case 3: return (Work)(a.s3456, a.s7, b.s012);
    case 4: return (Work)(a.s4567, b.s0123);
    case 5: return (Work)(a.s567, b.s0123, b.s4);
    case 6: return (Work)(a.s67, b.s0123, b.s45);
    case 7: return (Work)(a.s7, b.s0123, b.s456);
#elif LANES == 16
    case 1: return (Work)(a.s12345678, a.s9abc, a.sdef, b.s0);
    case 2: return (Work)(a.s23456789, a.sabcd, a.sef, b.s01);
    case 3: return (Work)(a.s3456789a, a.sbcde, a.sf, b.s012);
    case 4: return (Work)(a.s456789ab, a.scdef, b.s0123);
    case 5: return (Work)(a.s56789abc, a.sdef, b.s0123, b.s4);
    case 6: return (Work)(a.s6789abcd, a.sef, b.s0123, b.s45);
    case 7: return (Work)(a.s789abcde, a.sf, b.s0123, b.s456);
    case 8: return (Work)(a.s89abcdef, b.s01234567);
    case 9: return (Work)(a.s9abc, a.sdef, b.s01234567, b.s8);
    case 10: return (Work)(a.sabcd, a.sef, b.s01234567, b.s89);
    case 11: return (Work)(a.sbcde, a.sf, b.s01234567, b.s89a);
    case 12: return (Work)(a.scdef, b.s01234567, b.s89ab);
    case 13: return (Work)(a.sdef, b.s01234567, b.s89ab, b.sc);
    case 14: return (Work)(a.sef, b.s01234567, b.s89ab, b.scd);
    case 15: return (Work)(a.sf, b.s01234567, b.s89ab, b.scde);
#endif
    }
    return a;
}

// The lanes from `at` on of neighbouring vectors; `at` is known at compile time.
static Work lanes_from(const Work *part, const int parts, const int at)
{
    return shifted(part[at / LANES], part[min(at / LANES + 1, parts - 1)], at % LANES);
}
#endif

// The row's elements `column - RADIUS_X` pixels away from the work-item's own; `column` is known at compile time.
static Work tap(const Row row, const int column)
{
#if LOADS == DIRECT && !INNER
    return row.part[column];
#else
    return lanes_from(row.part, PARTS, FIRST - SIDE + column * STEP);
#endif
}
