// Two windows in one pass: the inner one is computed in registers, as the rows that the outer one sees.
//
// Each pass over memory costs a load and a store of the whole image; phones have little bandwidth. So the result of
// the first window is never stored: while a work-item walks down, each loaded row is added to the inner rows it
// belongs to, and a complete inner row, rounded to its element type, is handed to the outer window. The price: rows
// and columns where work-items meet are computed by each of them.

constant WORK inner_across[] = { INNER_ACROSS };
constant uchar inner_kind_of[] = { INNER_KIND };
constant WORK inner_down[] = { INNER_DOWN };

// The inner window's unfinished rows: their sums so far, the next row first; and the centres of the loaded rows, for
// pixels that are copied, the next row first.
typedef struct {
    Row sum[INNER_HEIGHT];
    Row centre[INNER_RADIUS_Y + 1];
} Underway;

// The loaded elements under a column of the inner window, for a part of its row; all but `loaded` is known at compile
// time.
static Work inner_tap(const Loaded loaded, const int part, const int column)
{
#if LOADS == DIRECT
    return loaded.part[part * INNER_WIDTH + column];
#else
    return lanes_from(loaded.part, LOADED_PARTS, LOADED_FIRST - SIDE - INNER_SIDE + part * LANES + column * STEP);
#endif
}

// Limited to the range of the inner window's element type.
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
    UNROLL_LOOP
    for (int part = 0; part < PARTS; ++part) {
        UNROLL_LOOP
        for (int row = 0; row < INNER_HEIGHT; ++row)
            underway->sum[row].part[part] = INNER_START;
        UNROLL_LOOP
        for (int row = 0; row <= INNER_RADIUS_Y; ++row)
            underway->centre[row].part[part] = 0;
    }
}

// Adds a loaded row, and returns the inner window's row that this completes. The first INNER_HEIGHT - 1 rows after
// the start complete none.
static Row inner_row(Underway *underway, const Loaded loaded)
{
    Row done;
    UNROLL_LOOP
    for (int part = 0; part < PARTS; ++part) {
        UNROLL_LOOP
        for (int row = 0; row < INNER_HEIGHT; ++row)
            underway->sum[row].part[part] =
                row + 1 < INNER_HEIGHT ? underway->sum[row + 1].part[part] : (Work)INNER_START;
        UNROLL_LOOP
        for (int row = 0; row < INNER_RADIUS_Y; ++row)
            underway->centre[row].part[part] = underway->centre[row + 1].part[part];
        underway->centre[INNER_RADIUS_Y].part[part] = inner_tap(loaded, part, INNER_RADIUS_X);
        UNROLL_LOOP
        for (int kind = 0; kind < INNER_KINDS; ++kind) {
            Work sum = INNER_START;
            UNROLL_LOOP
            for (int column = 0; column < INNER_WIDTH; ++column) {
                const WORK weight = inner_across[kind * INNER_WIDTH + column];
                if (weight != 0)
                    sum = taken(INNER_OPERATION, sum, weight, inner_tap(loaded, part, column));
            }
            UNROLL_LOOP
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

// A row of the inner window that is not entirely inside the image: pixels outside are those that they are folded to,
// which the work-item has in its part of the row.
static Row folded_row(const Row row, const Row centre, const int x, const int width)
{
    WORK span[PARTS * LANES], copies[PARTS * LANES];
    Row folded;
    UNROLL_LOOP
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
        // Elements that no window reads may be anything.
        span[i] = span[clamp(i + (fold(pixel, width) - pixel) * STEP, 0, PARTS * LANES - 1)];
#endif
    }
    UNROLL_LOOP
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
            UNROLL_LOOP
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
        UNROLL_LOOP
        for (int part = 0; part < PARTS; ++part)
            rows[j].part[part] = INNER_OUTSIDE;
#else
        // Rows below the last stored one may be anything.
        rows[j] = rows[clamp(fold(top + j, height) - top, 0, ROWS_IN - 1)];
#endif
    }
#endif
}
