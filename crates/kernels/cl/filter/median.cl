// The median: the middle value of the window.
//
// Sorting networks: pairs are put in order with min and max, which need no branch and work on all lanes of a vector
// at once. A window of 3 x 3 sorts its columns first, and neighbouring results share them. A larger one forgets
// extremes: among more than half of the elements, neither the smallest nor the largest is the median.

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

// Each column is sorted. The median of nine is the middle one of three: the largest of the columns' smallest, the
// middle one of their middle ones, the smallest of their largest. Whole vectors are sorted, so that a column that
// neighbours share is sorted once.
static Work middle(const Row *rows)
{
    Row low = rows[0], mid = rows[1], high = rows[2];
    UNROLL_LOOP
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
// Moves the smallest to the front and the largest to the end; what they displace stays among the rest.
static void extremes(Work *kept, const int count)
{
    UNROLL_LOOP
    for (int i = 0; i < count / 2; ++i)
        order(&kept[i], &kept[count - 1 - i]);
    UNROLL_LOOP
    for (int i = 1; i < (count + 1) / 2; ++i)
        order(&kept[0], &kept[i]);
    UNROLL_LOOP
    for (int i = count / 2; i < count - 1; ++i)
        order(&kept[i], &kept[count - 1]);
}

// Among half of the window's elements and two more, neither the smallest nor the largest is the median of all: both are
// dropped, one more element is added, and so on until three are left.
static Work middle(const Row *rows)
{
    enum { COUNT = WIDTH * HEIGHT, KEPT = COUNT / 2 + 2 };
    Work kept[KEPT];
    UNROLL_LOOP
    for (int i = 0; i < KEPT; ++i)
        kept[i] = tap(rows[i / WIDTH], i % WIDTH);
    UNROLL_LOOP
    for (int count = KEPT; count > 3; --count) {
        const int next = COUNT + 3 - count;
        extremes(kept, count);
        kept[0] = tap(rows[next / WIDTH], next % WIDTH);
    }
    extremes(kept, 3);
    return kept[1];
}
#endif

// The median, or NaN if the window holds one: `min` and `max` lose it.
static Work median(const Row *rows)
{
    const Work found = middle(rows);
#if WORK_FLOAT
    typedef VECTOR(int) Flags;
    Flags unordered = 0;
    UNROLL_LOOP
    for (int i = 0; i < WIDTH * HEIGHT; i += 2) {
        const int next = min(i + 1, WIDTH * HEIGHT - 1);
        unordered |= isunordered(tap(rows[i / WIDTH], i % WIDTH), tap(rows[next / WIDTH], next % WIDTH));
    }
    return select(found, (Work)NAN, unordered);
#else
    return found;
#endif
}

// A row of results at a time, in a loop that moves the window down: one network serves all rows. Unrolled, with a body
// for the edges beside that for the inside, an NVIDIA driver took minutes to compile it.
#define ONE_BODY !INNER

static void filter(FILTER_PARAMETERS)
{
    START_ROWS
    Row rows[HEIGHT];
    UNROLL_LOOP
    for (int j = 1; j < HEIGHT; ++j)
        rows[j] = NEXT_ROW(j - 1);
    KEEP_LOOP
    for (int r = 0; r < ROWS; ++r) {
        UNROLL_LOOP
        for (int j = 1; j < HEIGHT; ++j)
            rows[j - 1] = rows[j];
        rows[HEIGHT - 1] = NEXT_ROW(r + HEIGHT - 1);
        if (y + r < height)
            store_row(result + to_pitch * (y + r), median(rows), tap(rows[RADIUS_Y], RADIUS_X), x, y + r, width, height,
                      inside);
    }
}
