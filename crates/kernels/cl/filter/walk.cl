// How a work-item walks down the image.
//
// It needs ROWS + HEIGHT - 1 rows for its ROWS results. What a row contributes is computed once and serves every result
// above and below it. All loops have constant bounds and are unrolled, so that arrays become registers.

// UNROLLED: whether loops over rows are, too.
#if UNROLLED
#define UNROLL_ROWS UNROLL_LOOP
#else
#define UNROLL_ROWS
#endif

#define FILTER_PARAMETERS \
    SOURCE, global STORED *result, const uint from_pitch, const uint to_pitch, const int x, const int y, \
    const int width, const int height, const bool inside
#define LOAD_ROW(y) load_row(SAME_SOURCE, from_pitch, x, y, width, inside)

// NEXT_ROW(j) is row j of those that the window sees. START_ROWS comes before the first. `inside` is known at compile
// time.
#if INNER
#define START_ROWS \
    Underway underway; \
    Row edge[ROWS_IN]; \
    start(&underway); \
    if (inside) { \
        UNROLL_LOOP \
        for (int j = 1 - INNER_HEIGHT; j < 0; ++j) \
            (void)NEXT_ROW(j); \
    } else { \
        edge_rows(edge, SAME_SOURCE, from_pitch, x, y, width, height); \
    }
#define NEXT_ROW(j) (inside ? inner_row(&underway, LOAD_ROW(y + (j) - RADIUS_Y + INNER_RADIUS_Y)) : edge[j])
#else
#define START_ROWS
#define NEXT_ROW(j) LOAD_ROW(fold(y + (j) - RADIUS_Y, height))
#endif

// Stores the rows of `sum`.
#define STORE_ROWS \
    UNROLL_LOOP \
    for (int r = 0; r < ROWS; ++r) \
        if (y + r < height) \
            store_row(result + to_pitch * (y + r), sum[r], centre[r], x, y + r, width, height, inside);
