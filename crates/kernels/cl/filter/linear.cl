// Weighted sums, erosion and dilation: the rows of the window, one by one.
//
// A row of the image belongs to the windows of up to HEIGHT results. Its sums, one for each kind of row that the
// window has, are computed once and added to each of these results. In a loop over rows it is not known at compile time
// which kinds a row is needed for: each result then computes the sum that it takes.

static void filter(FILTER_PARAMETERS)
{
    Work sum[ROWS], centre[ROWS];
    START_ROWS
    UNROLL_LOOP
    for (int r = 0; r < ROWS; ++r)
        sum[r] = START;
    UNROLL_ROWS
    for (int j = 0; j < ROWS_IN; ++j) {
        const Row row = NEXT_ROW(j);
#if KINDS > 1 && !UNROLLED
        UNROLL_LOOP
        for (int r = 0; r < ROWS; ++r) {
            const int dy = j - r;
            if (dy >= 0 && dy < HEIGHT && down[dy] != 0)
                sum[r] = taken(OPERATION, sum[r], down[dy], row_sum(row, kind_of[dy]));
        }
#else
        UNROLL_LOOP
        for (int kind = 0; kind < KINDS; ++kind) {
            const Work part = row_sum(row, kind);
            UNROLL_LOOP
            for (int r = 0; r < ROWS; ++r) {
                const int dy = j - r;
                if (dy < 0 || dy >= HEIGHT || kind_of[dy] != kind || down[dy] == 0)
                    continue;
                sum[r] = taken(OPERATION, sum[r], down[dy], part);
            }
        }
#endif
        UNROLL_LOOP
        for (int r = 0; r < ROWS; ++r)
            if (j - r == RADIUS_Y)
                centre[r] = tap(row, RADIUS_X);
    }
    STORE_ROWS
}
