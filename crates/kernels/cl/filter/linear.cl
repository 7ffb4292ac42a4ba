// Weighted sums, erosion and dilation: the rows of the window, one by one.
//
// A row of the image belongs to the windows of up to HEIGHT results. Its sums, one for each kind of row that the
// window has, are computed once and added to each of these results.

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
        UNROLL_LOOP
        for (int r = 0; r < ROWS; ++r)
            if (j - r == RADIUS_Y)
                centre[r] = tap(row, RADIUS_X);
    }
    STORE_ROWS
}
