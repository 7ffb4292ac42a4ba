// Filters that look at a window around each pixel: weighted sums, gradients, the smallest, largest and middle value.
//
// A row of the image is taken as a row of elements: with C channels side by side, the neighbour of a pixel's channel is C
// elements (STEP) away, wherever a vector starts, and channels never mix. Planes are the launch's third dimension. A
// work-item computes LANES elements of ROWS rows. It walks down the ROWS + HEIGHT - 1 rows they need; what a row contributes is
// worked out once and serves every result below and above it.
//
// Everything that is known when the program is built is a -D: the loops below have constant bounds and are unrolled, so that
// weights of 0 vanish, weights of 1 and -1 cost no multiplication, and arrays become registers.
//
// The five operations share all but their innermost lines, and each program has one of them.
//
// Where the stage before has a window too, that inner window's rows are worked out in registers as the work-item walks down, each
// rounded to its element type: they are the rows that the window then takes. Nothing between the two goes through memory. The
// columns and rows where work-items meet are worked out by each of them.
//
// Work-items whose loads would leave the row (those at its ends) fetch element by element instead, folding places
// outside back into the image. Rows are folded by all: that is one comparison for LANES elements.

// What is computed, and the type it is computed in.
#define LINEAR 0   // the sum of weights times elements
#define GRADIENT 1 // |dx| + |dy|
#define LEAST 2    // erosion: WORK is the element type, as for the two below
#define MOST 3     // dilation
#define MEDIAN 4
#ifndef OPERATION
#define OPERATION LINEAR
#endif

// Element types of the source and of the result, and that of sums: short or ushort where every partial sum fits, which is
// half the registers of int and, on 128-bit vector units and lanes that take two shorts, half the instructions.
// With an inner window WORK holds the sums of both, FINAL and INNER_FINAL those of each: ushort, in which sums of shorts wrap around,
// may be short in the end.
#ifndef FROM
#define FROM uchar
#define TO uchar
#define WORK short
#define FINAL short
#define SIGNED_WORK short
#define UNSIGNED_WORK ushort
#endif
// half is loaded into float.
#ifndef FROM_HALF
#define FROM_HALF 0
#define TO_HALF 0
#endif
// Whether WORK is float, whether the result is an integer, and whether it is one of integer sums.
#ifndef WORK_FLOAT
#define WORK_FLOAT 0
#define TO_INTEGER 1
#define WHOLE 1
#endif

// A stage that looks at one pixel only and stands before or after the window's costs no pass of its own: what is loaded is converted, and so is
// what is stored. SEEN is the element type that the window sees, STORED that of the buffer of the result.
#define CONVERT 1 // times a scale, plus an offset, each rounded to float
#define GRAY 2    // of R G B (A), side by side
#define GRAY_BGR 3
#ifndef BEFORE
#define BEFORE 0
#define SEEN uchar
#define SEEN_INTEGER 1
#define BEFORE_SCALE 1.0f
#define BEFORE_OFFSET 0.0f
#define SPREAD 1 // elements of the source for one that the window sees
#endif
#ifndef AFTER
#define AFTER 0
#define STORED uchar
#define STORED_HALF 0
#define STORED_INTEGER 1
#define AFTER_SCALE 1.0f
#define AFTER_OFFSET 0.0f
#endif

// Elements of a row and rows a work-item computes; LANES is a vector's width.
#ifndef LANES
#define LANES 16
#define ROWS 2
#endif

// How the elements left and right of a vector are had.
#define DIRECT 0  // a load for each column of the window, at whatever address: CPUs, and GPUs whose caches serve them
#define SHARED 1  // as few loads as hold them all; columns are put together from two of them by swizzles
#define ALIGNED 2 // the same from vectors at multiples of their size: where other addresses are read byte by byte
#define IMAGE 3   // the same from an image over the buffer, whose texels are four elements: GPUs that cache no other loads
#ifndef LOADS
#define LOADS SHARED
#endif
#ifndef TEXEL
#define TEXEL uint
#define READ_TEXEL read_imageui
#endif
// Whether results lie at multiples of a vector's size. Vectors at such places are moved as words: there are compilers that move
// uchar16 in pieces.
#ifndef ALIGNED_TO
#define ALIGNED_TO 0
#define FROM_BLOCK uint4
#define STORED_BLOCK uint4
#endif

// The window. Row dy of it is DOWN[dy] times row KIND[dy] of ACROSS; rows that are multiples of each other share a kind, so an outer
// product has one and Laplace's window two. Lists are written W(1)W(-2)W(1).
#define W(number) number,
#ifndef WIDTH
#define WIDTH 3
#define HEIGHT 3
#define KINDS 2
#define ACROSS W(-1)W(-1)W(-1)W(-1)W(9)W(-1)
#define KIND W(0)W(1)W(0)
#define DOWN W(1)W(1)W(1)
#endif

// Integers: floor((sum + DIVISOR / 2) / DIVISOR) + OFFSET; where DIVISOR is a power of two, SHIFT is its logarithm, else -1, and then
// NEGATIVE says whether sums can be.
// Otherwise: sum * SCALE + OFFSET in float, each rounded by itself.
#ifndef DIVISOR
#define DIVISOR 1
#define SHIFT 0
#define NEGATIVE 1
#define OFFSET 0
#define SCALE 1.0f
#endif

// Elements from a pixel to its neighbour; whether every fourth is alpha, which is copied.
#ifndef STEP
#define STEP 3
#define KEEP_ALPHA 0
#endif

// The inner window, if there is one. A LINEAR one is whole where WORK is, and INNER_OPERATION may be LEAST or MOST. Where INNER_CLAMPED, its
// results and what it copies are brought into INNER_LEAST .. INNER_MOST.
#ifndef INNER
#define INNER 0
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

// What lies outside the image.
#define NONE 0 // nothing: where a window leaves the image, the pixel is copied
#define CONSTANT 1
#define REPLICATE 2
#define REFLECT 3
#define REFLECT_101 4
#define WRAP 5
#ifndef BORDER
#define BORDER NONE
#define OUTSIDE 0       // of the source
#define INNER_OUTSIDE 0 // of what the inner window makes
#endif

// What LEAST and MOST start from.
#ifndef START
#define START 0
#endif

#pragma OPENCL FP_CONTRACT OFF

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define VECTOR(type) JOIN(type, LANES)
typedef VECTOR(WORK) Work;
typedef VECTOR(FINAL) Final;

#define convert_Work JOIN(convert_, VECTOR(WORK))
#define as_Work JOIN(as_, VECTOR(WORK))
#define as_Final JOIN(as_, VECTOR(FINAL))
#define Floats VECTOR(float)
#define convert_Floats JOIN(convert_, Floats)

#define RADIUS_X (WIDTH / 2)
#define RADIUS_Y (HEIGHT / 2)
#define ROWS_IN (ROWS + HEIGHT - 1)
#define SIDE (RADIUS_X * STEP)
#if INNER
#define INNER_RADIUS_X (INNER_WIDTH / 2)
#define INNER_RADIUS_Y (INNER_HEIGHT / 2)
#define INNER_SIDE (INNER_RADIUS_X * STEP)
#else
#define INNER_SIDE 0
#endif

// A row's elements as they are loaded: vectors, the first of which starts LOADED_FIRST elements left of the work-item's own.
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
// And as the window takes them.
#if INNER
#define FIRST SIDE
#define PARTS ((2 * SIDE + 2 * LANES - 1) / LANES)
#else
#define FIRST LOADED_FIRST
#define PARTS LOADED_PARTS
#endif
// Lanes of alpha.
#if LANES == 4
#define ALPHA s3
#elif LANES == 8
#define ALPHA s37
#else
#define ALPHA s37bf
#endif
#define UNROLL _Pragma("unroll")
// For what few work-items do: it is not worth the instructions.
#define KEEP_LOOP _Pragma("nounroll")
// Rows are unrolled as long as that stays readable to an instruction cache.
#if ROWS_IN * WIDTH * KINDS <= 512
#define UNROLL_ROWS UNROLL
#else
#define UNROLL_ROWS
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
// Lanes k .. k + LANES - 1 of two vectors side by side; k is known at compile time.
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

// The lanes from `at` on of vectors side by side; `at` is known at compile time.
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

// The place in 0 .. extent - 1 that stands for `place`, which is outside; -1 where only a constant does.
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

// The source: where edges are loaded from, and vectors but for images; the image, and the texel and row of its first element.
#if LOADS == IMAGE
#define SOURCE global const FROM *source, read_only image2d_t texels, const int2 origin
#define SAME_SOURCE source, texels, origin
#else
#define SOURCE global const FROM *source
#define SAME_SOURCE source
#endif

// A row of it; a vector of a row and one element.
#if LOADS == IMAGE
#define ROW read_only image2d_t texels, const int2 origin
#define ROW_AT(y) texels, origin + (int2)(0, y)
#define READ(at, texel) READ_TEXEL(texels, origin + (int2)((at) / 4 + (texel), 0))
#if LANES == 4
#define RAW(at) READ(at, 0)
#elif LANES == 8
#define RAW(at) (VECTOR(TEXEL))(READ(at, 0), READ(at, 1))
#else
#define RAW(at) (VECTOR(TEXEL))(READ(at, 0), READ(at, 1), READ(at, 2), READ(at, 3))
#endif
#else
#define ROW global const FROM *row
#define ROW_AT(y) source
#if FROM_HALF && LOADS == ALIGNED
#define RAW(at) JOIN(vloada_half, LANES)(0, row + (at))
#elif FROM_HALF
#define RAW(at) JOIN(vload_half, LANES)(0, row + (at))
#elif LOADS == ALIGNED
#define RAW(at) JOIN(as_, VECTOR(FROM))(*(global const FROM_BLOCK *)(row + (at)))
#else
#define RAW(at) JOIN(vload, LANES)(0, row + (at))
#endif
#endif
#if FROM_HALF
#define RAW_ONE(at) vload_half(0, at)
#else
#define RAW_ONE(at) (*(at))
#endif

// What the window sees of it.
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
#elif BEFORE == GRAY || BEFORE == GRAY_BGR
#if SEEN_INTEGER
#define LUMA(red, green, blue) ((9798 * (red) + 19235 * (green) + 3735 * (blue) + 16384) >> 15)
#define Part int
#else
#define LUMA(red, green, blue) (0.299f * (red) + 0.587f * (green) + 0.114f * (blue))
#define Part float
#endif
#define Parts VECTOR(Part)
#define convert_Parts JOIN(convert_, VECTOR(Part))

// Every third lane (three channels) or every fourth, from the first, second and third on.
#if SPREAD == 4
#if LANES == 16
#define PICK_0(v) v.s048c
#define PICK_1(v) v.s159d
#define PICK_2(v) v.s26ae
#elif LANES == 8
#define PICK_0(v) v.s04
#define PICK_1(v) v.s15
#define PICK_2(v) v.s26
#else
#define PICK_0(v) v.s0
#define PICK_1(v) v.s1
#define PICK_2(v) v.s2
#endif
#else
#if LANES == 16
#define PICK_0(v) v.s0369, v.scf
#define PICK_1(v) v.s147a, v.sd
#define PICK_2(v) v.s258b, v.se
#elif LANES == 8
#define PICK_0(v) v.s036
#define PICK_1(v) v.s147
#define PICK_2(v) v.s25
#else
#define PICK_0(v) v.s03
#define PICK_1(v) v.s1
#define PICK_2(v) v.s2
#endif
#endif

// LANES pixels are as many vectors as they have channels; each channel is picked out of all of them.
static Work load(ROW, const int at)
{
    const Parts a = convert_Parts(RAW(at)), b = convert_Parts(RAW(at + LANES)), c = convert_Parts(RAW(at + 2 * LANES));
#if SPREAD == 4
    const Parts d = convert_Parts(RAW(at + 3 * LANES));
    const Parts first = (Parts)(PICK_0(a), PICK_0(b), PICK_0(c), PICK_0(d));
    const Parts second = (Parts)(PICK_1(a), PICK_1(b), PICK_1(c), PICK_1(d));
    const Parts third = (Parts)(PICK_2(a), PICK_2(b), PICK_2(c), PICK_2(d));
#elif LANES == 8
    const Parts first = (Parts)(PICK_0(a), PICK_1(b), PICK_2(c));
    const Parts second = (Parts)(PICK_1(a), PICK_2(b), PICK_0(c));
    const Parts third = (Parts)(PICK_2(a), PICK_0(b), PICK_1(c));
#else
    const Parts first = (Parts)(PICK_0(a), PICK_2(b), PICK_1(c));
    const Parts second = (Parts)(PICK_1(a), PICK_0(b), PICK_2(c));
    const Parts third = (Parts)(PICK_2(a), PICK_1(b), PICK_0(c));
#endif
#if BEFORE == GRAY
    return convert_Work(LUMA(first, second, third));
#else
    return convert_Work(LUMA(third, second, first));
#endif
}

static WORK load_one(global const FROM *at)
{
    const Part first = at[0], second = at[1], third = at[2];
#if BEFORE == GRAY
    return (WORK)LUMA(first, second, third);
#else
    return (WORK)LUMA(third, second, first);
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

// The element `at` of a row of `width` pixels, which may lie outside.
static WORK element(global const FROM *row, const int at, const int width)
{
    const int pixel = at < 0 ? (at + 1) / STEP - 1 : at / STEP;
    const int folded = fold(pixel, width);
#if BORDER == CONSTANT
    if (folded < 0)
        return OUTSIDE;
#endif
    return load_one(row + (folded * STEP + (at - pixel * STEP)) * SPREAD);
}

// Whether nothing that is loaded around element x lies outside the row.
static bool is_inside(const int x, const int width)
{
    return (x >= LOADED_FIRST) & (x <= width * STEP - REACH);
}

// The row of the image that a pixel lies in, or that stands for it, is y, -1 where only a constant does; what is loaded of it around
// element x. `inside`: nothing of that lies outside the row.
static Loaded load_row(SOURCE, const uint pitch, const int x, const int y, const int width, const bool inside)
{
    Loaded row;
#if BORDER == CONSTANT
    if (y < 0) {
        UNROLL
        for (int part = 0; part < LOADED_PARTS; ++part)
            row.part[part] = OUTSIDE;
        return row;
    }
#endif
    source += pitch * y;
    if (inside) {
        UNROLL
        for (int part = 0; part < LOADED_PARTS; ++part)
            row.part[part] = load(ROW_AT(y), (x + LOADED_AT(part)) * SPREAD);
        return row;
    }
    WORK span[LOADED_FIRST + REACH];
    KEEP_LOOP
    for (int i = 0; i < LOADED_FIRST + REACH; ++i)
        span[i] = element(source, x - LOADED_FIRST + i, width);
    UNROLL
    for (int part = 0; part < LOADED_PARTS; ++part)
        row.part[part] = JOIN(vload, LANES)(0, span + LOADED_FIRST + LOADED_AT(part));
    return row;
}

// a * b + c, fused or not as is fastest.
#if WORK_FLOAT
#define MULTIPLY_ADD(a, b, c) mad((Work)(a), b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

// What a window makes of its elements so far and another one, or of rows of them.
static Work taken(const int operation, const Work so_far, const WORK weight, const Work value)
{
    if (operation == LEAST)
        return min(so_far, value);
    if (operation == MOST)
        return max(so_far, value);
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
    // Division rounds towards 0: a remainder below 0 is one too many.
    const Signed quotient = whole / (SIGNED_WORK)divisor;
    return as_Work(quotient + ((whole - quotient * (SIGNED_WORK)divisor) >> (SIGNED_WORK)(8 * sizeof(WORK) - 1)));
}
#endif

#if OPERATION == MEDIAN
static void order(Work *a, Work *b)
{
    const Work least = min(*a, *b);
    *b = max(*a, *b);
    *a = least;
}

#if WIDTH == 3
static Work middle_of_3(Work a, Work b, Work c)
{
    order(&a, &b);
    return max(a, min(b, c));
}

// Each column in order; the median of nine is the middle one of: the largest of the columns' smallest, the middle one of their
// middle ones, the smallest of their largest. Whole parts are put in order, so that columns shared by neighbours are once.
static Work middle(const Row *rows)
{
    Row low = rows[0], mid = rows[1], high = rows[2];
    UNROLL
    for (int part = 0; part < PARTS; ++part) {
        order(&low.part[part], &mid.part[part]);
        order(&mid.part[part], &high.part[part]);
        order(&low.part[part], &mid.part[part]);
    }
    return middle_of_3(max(max(tap(low, 0), tap(low, 1)), tap(low, 2)),
                       middle_of_3(tap(mid, 0), tap(mid, 1), tap(mid, 2)),
                       min(min(tap(high, 0), tap(high, 1)), tap(high, 2)));
}
#else
// The smallest to the front and the largest to the end; what they displace stays among the rest.
static void extremes(Work *kept, const int count)
{
    UNROLL
    for (int i = 0; i < count / 2; ++i)
        order(&kept[i], &kept[count - 1 - i]);
    UNROLL
    for (int i = 1; i < (count + 1) / 2; ++i)
        order(&kept[0], &kept[i]);
    UNROLL
    for (int i = count / 2; i < count - 1; ++i)
        order(&kept[i], &kept[count - 1]);
}

// Of any half of the window's elements and two more, neither the smallest nor the largest is the median of all: both are
// forgotten, one more element is taken in, and so on until three are left.
static Work middle(const Row *rows)
{
    enum { COUNT = WIDTH * HEIGHT, KEPT = COUNT / 2 + 2 };
    Work kept[KEPT];
    UNROLL
    for (int i = 0; i < KEPT; ++i)
        kept[i] = tap(rows[i / WIDTH], i % WIDTH);
    UNROLL
    for (int count = KEPT; count > 3; --count) {
        const int next = COUNT + 3 - count;
        extremes(kept, count);
        kept[0] = tap(rows[next / WIDTH], next % WIDTH);
    }
    extremes(kept, 3);
    return kept[1];
}
#endif
#else
constant WORK across[] = { ACROSS };
constant uchar kind_of[] = { KIND };
constant WORK down[] = { DOWN };

// One kind of a window's rows over a row of the image.
static Work row_sum(const Row row, const int kind)
{
    Work sum = START;
    UNROLL
    for (int column = 0; column < WIDTH; ++column) {
        const WORK weight = across[kind * WIDTH + column];
        if (weight != 0)
            sum = taken(OPERATION, sum, weight, tap(row, column));
    }
    return sum;
}
#endif

#if INNER
constant WORK inner_across[] = { INNER_ACROSS };
constant uchar inner_kind_of[] = { INNER_KIND };
constant WORK inner_down[] = { INNER_DOWN };

// What the loaded rows add to those of the inner window's rows that are not done, the next one first; and its centre in the rows loaded,
// the next row's first, for pixels that are copied.
typedef struct {
    Row sum[INNER_HEIGHT];
    Row centre[INNER_RADIUS_Y + 1];
} Underway;

// The loaded elements that the inner window's column looks at for a part of its row; all but `loaded` are known at compile time.
static Work inner_tap(const Loaded loaded, const int part, const int column)
{
#if LOADS == DIRECT
    return loaded.part[part * INNER_WIDTH + column];
#else
    return lanes_from(loaded.part, LOADED_PARTS, LOADED_FIRST - SIDE - INNER_SIDE + part * LANES + column * STEP);
#endif
}

// In the range of the inner window's element type.
static Work inner_limited(const Work value)
{
#if INNER_CLAMPED
    typedef VECTOR(INNER_FINAL) InnerFinal;
    return as_Work(clamp(JOIN(as_, VECTOR(INNER_FINAL))(value), (InnerFinal)INNER_LEAST, (InnerFinal)INNER_MOST));
#else
    return value;
#endif
}

static Work inner_finished(const Work sum)
{
#if WORK_FLOAT
    return sum + (Work)INNER_OFFSET;
#else
    const Work value = divided(sum, INNER_DIVISOR, INNER_SHIFT, INNER_NEGATIVE);
#if INNER_OFFSET != 0
    typedef VECTOR(INNER_FINAL) InnerFinal;
    return inner_limited(as_Work(add_sat(JOIN(as_, VECTOR(INNER_FINAL))(value), (InnerFinal)INNER_OFFSET)));
#else
    return inner_limited(value);
#endif
#endif
}

static void start(Underway *underway)
{
    UNROLL
    for (int part = 0; part < PARTS; ++part) {
        UNROLL
        for (int row = 0; row < INNER_HEIGHT; ++row)
            underway->sum[row].part[part] = INNER_START;
        UNROLL
        for (int row = 0; row <= INNER_RADIUS_Y; ++row)
            underway->centre[row].part[part] = 0;
    }
}

// The inner window's row that is done with one more row loaded. The first INNER_HEIGHT - 1 after the start are none.
static Row inner_row(Underway *underway, const Loaded loaded)
{
    Row done;
    UNROLL
    for (int part = 0; part < PARTS; ++part) {
        UNROLL
        for (int row = 0; row < INNER_HEIGHT; ++row)
            underway->sum[row].part[part] = row + 1 < INNER_HEIGHT ? underway->sum[row + 1].part[part] : (Work)INNER_START;
        UNROLL
        for (int row = 0; row < INNER_RADIUS_Y; ++row)
            underway->centre[row].part[part] = underway->centre[row + 1].part[part];
        underway->centre[INNER_RADIUS_Y].part[part] = inner_tap(loaded, part, INNER_RADIUS_X);
        UNROLL
        for (int kind = 0; kind < INNER_KINDS; ++kind) {
            Work sum = INNER_START;
            UNROLL
            for (int column = 0; column < INNER_WIDTH; ++column) {
                const WORK weight = inner_across[kind * INNER_WIDTH + column];
                if (weight != 0)
                    sum = taken(INNER_OPERATION, sum, weight, inner_tap(loaded, part, column));
            }
            UNROLL
            for (int row = 0; row < INNER_HEIGHT; ++row) {
                const int dy = INNER_HEIGHT - 1 - row;
                Work *under = &underway->sum[row].part[part];
                if (inner_kind_of[dy] == kind && inner_down[dy] != 0)
                    *under = taken(INNER_OPERATION, *under, inner_down[dy], sum);
            }
        }
        Work value = inner_finished(underway->sum[0].part[part]);
#if KEEP_ALPHA
        value.ALPHA = inner_limited(underway->centre[0].part[part]).ALPHA;
#endif
        done.part[part] = value;
    }
    return done;
}

// A row of the inner window where not all of it lies inside the image: pixels outside are the ones they are folded to, which lie in what the
// work-item has of the row.
static Row folded_row(const Row row, const Row centre, const int x, const int width)
{
    WORK span[PARTS * LANES], copies[PARTS * LANES];
    Row folded;
    UNROLL
    for (int part = 0; part < PARTS; ++part) {
        JOIN(vstore, LANES)(row.part[part], part, span);
        JOIN(vstore, LANES)(inner_limited(centre.part[part]), part, copies);
    }
    KEEP_LOOP
    for (int i = 0; i < PARTS * LANES; ++i) {
        const int at = x - FIRST + i, pixel = at < 0 ? (at + 1) / STEP - 1 : at / STEP;
#if BORDER == NONE
        if (pixel < INNER_RADIUS_X || pixel >= width - INNER_RADIUS_X)
            span[i] = copies[i];
#elif BORDER == CONSTANT
        if ((uint)pixel >= (uint)width)
            span[i] = INNER_OUTSIDE;
#else
        // What no window looks at may be folded to anywhere.
        span[i] = span[clamp(i + (fold(pixel, width) - pixel) * STEP, 0, PARTS * LANES - 1)];
#endif
    }
    UNROLL
    for (int part = 0; part < PARTS; ++part)
        folded.part[part] = JOIN(vload, LANES)(part, span);
    return folded;
}

// All rows of the inner window that the window takes, at the edges of the image.
static void edge_rows(Row *rows, SOURCE, const uint pitch, const int x, const int y, const int width, const int height)
{
    const int top = y - RADIUS_Y;
    const bool inside = is_inside(x, width);
    Underway underway;
    start(&underway);
    KEEP_LOOP
    for (int j = 1 - INNER_HEIGHT; j < ROWS_IN; ++j) {
        const int loaded = top + j + INNER_RADIUS_Y;
        Row row = inner_row(&underway, load_row(SAME_SOURCE, pitch, x, fold(loaded, height), width, inside));
        if (j < 0)
            continue;
#if BORDER == NONE
        if (top + j < INNER_RADIUS_Y || top + j >= height - INNER_RADIUS_Y) {
            UNROLL
            for (int part = 0; part < PARTS; ++part)
                row.part[part] = inner_limited(underway.centre[0].part[part]);
        }
#endif
        if (!inside)
            row = folded_row(row, underway.centre[0], x, width);
        rows[j] = row;
    }
#if BORDER != NONE
    KEEP_LOOP
    for (int j = 0; j < ROWS_IN; ++j) {
        if ((uint)(top + j) < (uint)height)
            continue;
#if BORDER == CONSTANT
        UNROLL
        for (int part = 0; part < PARTS; ++part)
            rows[j].part[part] = INNER_OUTSIDE;
#else
        // Rows below what is stored may be folded to anywhere.
        rows[j] = rows[clamp(fold(top + j, height) - top, 0, ROWS_IN - 1)];
#endif
    }
#endif
}
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

// The window's result as it is stored.
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

// Stores what belongs to the image. `centre` are the source's own elements.
static void store_row(global STORED *result, const Work sum, const Work centre, const int x, const int y, const int width,
                      const int height, const bool inside)
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

// Row j of those that the window takes; `inside` is known at compile time.
#if INNER
#define NEXT_ROW(j) (inside ? inner_row(&underway, LOAD_ROW(y + (j) - RADIUS_Y + INNER_RADIUS_Y)) : edge[j])
#else
#define NEXT_ROW(j) LOAD_ROW(fold(y + (j) - RADIUS_Y, height))
#endif
#define LOAD_ROW(y) load_row(SAME_SOURCE, from_pitch, x, y, width, inside)

static void filter(SOURCE, global STORED *result, const uint from_pitch, const uint to_pitch, const int x, const int y,
                   const int width, const int height, const bool inside)
{
    Work sum[ROWS], centre[ROWS];
#if INNER
    Underway underway;
    Row edge[ROWS_IN];
    start(&underway);
    if (inside) {
        UNROLL
        for (int j = 1 - INNER_HEIGHT; j < 0; ++j)
            (void)NEXT_ROW(j);
    } else {
        edge_rows(edge, SAME_SOURCE, from_pitch, x, y, width, height);
    }
#endif
#if OPERATION == MEDIAN
    Row rows[ROWS_IN];
    UNROLL
    for (int j = 0; j < ROWS_IN; ++j)
        rows[j] = NEXT_ROW(j);
    UNROLL
    for (int r = 0; r < ROWS; ++r) {
        sum[r] = middle(rows + r);
        centre[r] = tap(rows[r + RADIUS_Y], RADIUS_X);
    }
#else
#if OPERATION == GRADIENT
    Work other[ROWS];
#endif
    UNROLL
    for (int r = 0; r < ROWS; ++r) {
        sum[r] = START;
#if OPERATION == GRADIENT
        other[r] = START;
#endif
    }
    UNROLL_ROWS
    for (int j = 0; j < ROWS_IN; ++j) {
        const Row row = NEXT_ROW(j);
#if OPERATION == GRADIENT
        const Work smooth = row_sum(row, 0), difference = tap(row, 2) - tap(row, 0);
        UNROLL
        for (int r = 0; r < ROWS; ++r) {
            const int dy = j - r;
            if (dy < 0 || dy >= HEIGHT)
                continue;
            sum[r] = MULTIPLY_ADD(down[dy], difference, sum[r]);
            // Nothing of the middle row: times 0, infinity and NaN would be seen.
            if (dy != 1)
                other[r] = MULTIPLY_ADD((WORK)(dy - 1), smooth, other[r]);
        }
#else
        UNROLL
        for (int kind = 0; kind < KINDS; ++kind) {
            const Work part = row_sum(row, kind);
            UNROLL
            for (int r = 0; r < ROWS; ++r) {
                const int dy = j - r;
                if (dy < 0 || dy >= HEIGHT || kind_of[dy] != kind || down[dy] == 0)
                    continue;
                sum[r] = taken(OPERATION, sum[r], down[dy], part);
            }
        }
#endif
        UNROLL
        for (int r = 0; r < ROWS; ++r)
            if (j - r == RADIUS_Y)
                centre[r] = tap(row, RADIUS_X);
    }
#if OPERATION == GRADIENT
    UNROLL
    for (int r = 0; r < ROWS; ++r) {
        const Final dx = as_Final(sum[r]), dy = as_Final(other[r]);
        sum[r] = as_Work(max(dx, -dx) + max(dy, -dy));
    }
#endif
#endif
    UNROLL
    for (int r = 0; r < ROWS; ++r)
        if (y + r < height)
            store_row(result + to_pitch * (y + r), sum[r], centre[r], x, y + r, width, height, inside);
}

#if LOADS == IMAGE
#define IMAGE_PARAMETERS , read_only image2d_t texels, const int first_texel, const int first_row, const int plane_rows
#else
#define IMAGE_PARAMETERS
#endif

// Dimension 0 runs along the row, so that neighbours in a warp load neighbouring addresses; 1 runs down the image, ROWS at a
// time; 2 over planes. Sizes are rounded up to whole work-groups. Pitches and offsets are in elements. The image's texel and row of the first
// element, and rows of it from plane to plane, are worked out ahead.
kernel void filter_window(global const FROM *source, global STORED *result, const uint from_offset, const uint from_pitch,
                          const uint from_plane, const uint to_offset, const uint to_pitch, const uint to_plane,
                          const int width, const int height IMAGE_PARAMETERS)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) * ROWS;
    const uint plane = get_global_id(2);
    if (x >= width * STEP || y >= height)
        return;
    source += from_offset + plane * from_plane;
    result += to_offset + plane * to_plane;
#if LOADS == IMAGE
    const int2 origin = (int2)(first_texel, first_row + (int)plane * plane_rows);
#endif
    bool inside = is_inside(x, width);
#if INNER
    inside &= (y >= RADIUS_Y + INNER_RADIUS_Y) & (y <= height - ROWS - RADIUS_Y - INNER_RADIUS_Y);
#endif
    if (inside)
        filter(SAME_SOURCE, result, from_pitch, to_pitch, x, y, width, height, true);
    else
        filter(SAME_SOURCE, result, from_pitch, to_pitch, x, y, width, height, false);
}
