// Gradients: |dx| + |dy| of Sobel or Scharr.
//
// Both derivatives are outer products of the same two rows, a smoothing and a difference, once across and once down.
// A row of the image is smoothed once and differenced once, and both serve all results.

static void filter(FILTER_PARAMETERS)
{
    Work sum[ROWS], centre[ROWS];
    START_ROWS
    Work other[ROWS];
    UNROLL_LOOP
    for (int r = 0; r < ROWS; ++r) {
        sum[r] = START;
        other[r] = START;
    }
    UNROLL_ROWS
    for (int j = 0; j < ROWS_IN; ++j) {
        const Row row = NEXT_ROW(j);
        const Work smooth = row_sum(row, 0), difference = tap(row, 2) - tap(row, 0);
        UNROLL_LOOP
        for (int r = 0; r < ROWS; ++r) {
            const int dy = j - r;
            if (dy < 0 || dy >= HEIGHT)
                continue;
            sum[r] = MULTIPLY_ADD(down[dy], difference, sum[r]);
            // Not the middle row: times 0, infinity and NaN would have an effect.
            if (dy != 1)
                other[r] = MULTIPLY_ADD((WORK)(dy - 1), smooth, other[r]);
        }
        UNROLL_LOOP
        for (int r = 0; r < ROWS; ++r)
            if (j - r == RADIUS_Y)
                centre[r] = tap(row, RADIUS_X);
    }
    UNROLL_LOOP
    for (int r = 0; r < ROWS; ++r) {
        const Final dx = as_Final(sum[r]), dy = as_Final(other[r]);
        sum[r] = as_Work(max(dx, -dx) + max(dy, -dy));
    }
    STORE_ROWS
}
