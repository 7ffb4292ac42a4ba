// filter_pairs: blocks, and the bytes beside them.
//
// A block computes the sums of each row once, for every kind of row that the window has; a result adds HEIGHT of
// them. The last row of a window completes a row of results.

// The block at byte x of ROWS rows, from row y on.
static void filter_block(SOURCE, global uchar *result, const uint to_pitch, const int x, const int y, const int height)
{
    int places[ROWS_IN];
    UNROLL_LOOP
    for (int j = 0; j < ROWS_IN; ++j)
        places[j] = y + j - RADIUS_Y;
    // One test for all rows: few blocks need a row outside.
    if (y < RADIUS_Y || y + ROWS > height - RADIUS_Y) {
        UNROLL_LOOP
        for (int j = 0; j < ROWS_IN; ++j)
            places[j] = fold(places[j], height);
    }
    Row rows[ROWS_IN];
    UNROLL_LOOP
    for (int j = 0; j < ROWS_IN; ++j)
        rows[j] = load_row(SAME_SOURCE, x, places[j]);
    uint parts[ROWS_IN][KINDS][WORDS][2];
    UNROLL_LOOP
    for (int j = 0; j < ROWS_IN; ++j) {
        UNROLL_LOOP
        for (int kind = 0; kind < KINDS; ++kind) {
            UNROLL_LOOP
            for (int i = 0; i < WORDS; ++i) {
                UNROLL_LOOP
                for (int stream = 0; stream < 2; ++stream)
                    parts[j][kind][i][stream] = row_sum(rows[j], kind, 4 * (SIDE + i) + stream);
            }
        }
        // The last row of a window makes a row of results.
        const int r = j - (HEIGHT - 1);
        if (r < 0)
            continue;
        Words value, centre;
        UNROLL_LOOP
        for (int i = 0; i < WORDS; ++i) {
            centre.word[i] = word_of(rows[r + RADIUS_Y], SIDE + i);
            uint sum[2];
            UNROLL_LOOP
            for (int stream = 0; stream < 2; ++stream) {
                sum[stream] = BOTH(SEED) + PEAK * lanes_of(rows[r + RADIUS_Y], SIDE + i, stream);
                UNROLL_LOOP
                for (int dy = 0; dy < HEIGHT; ++dy)
                    sum[stream] += down[dy] * parts[r + dy][kind_of[dy]][i][stream];
            }
            value.word[i] = finished(sum[0], sum[1]);
        }
#if BORDER == NONE
        if (y + r < RADIUS_Y || y + r >= height - RADIUS_Y)
            value = centre;
#endif
#if KEEP_ALPHA
        UNROLL_LOOP
        for (int i = 0; i < WORDS; ++i)
            value.word[i] = bitselect(value.word[i], centre.word[i], 0xff000000u);
#endif
        if (y + r < height)
            STORE_BLOCK(value.block, result + to_pitch * (y + r) + x);
    }
}

// Byte x, wherever it is, of ROWS rows, from row y on.
static void filter_byte(global const uchar *source, global uchar *result, const uint from_pitch, const uint to_pitch,
                        const int x, const int y, const int width, const int height)
{
    const int pixel = x / STEP, channel = x % STEP;
    int columns[WIDTH];
    UNROLL_LOOP
    for (int column = 0; column < WIDTH; ++column)
        columns[column] = fold(pixel + column - RADIUS_X, width);
    // All are loaded before the first is used: there are too few of these work-items to hide one load behind another.
    uint seen[ROWS_IN][WIDTH];
    UNROLL_LOOP
    for (int j = 0; j < ROWS_IN; ++j) {
        const int row = fold(y + j - RADIUS_Y, height);
        UNROLL_LOOP
        for (int column = 0; column < WIDTH; ++column) {
#if BORDER == CONSTANT
            if (row < 0 || columns[column] < 0) {
                seen[j][column] = OUTSIDE;
                continue;
            }
#endif
            seen[j][column] = source[from_pitch * row + columns[column] * STEP + channel];
        }
    }
    bool copied = false;
#if BORDER == NONE
    copied = pixel < RADIUS_X || pixel >= width - RADIUS_X;
#endif
#if KEEP_ALPHA
    copied = copied || channel == 3;
#endif
    UNROLL_LOOP
    for (int r = 0; r < ROWS; ++r) {
        const uint centre = seen[r + RADIUS_Y][RADIUS_X];
        uint sum = SEED + PEAK * centre;
        UNROLL_LOOP
        for (int dy = 0; dy < HEIGHT; ++dy) {
            UNROLL_LOOP
            for (int column = 0; column < WIDTH; ++column)
                sum += down[dy] * across[kind_of[dy] * WIDTH + column] * seen[r + dy][column];
        }
        uint value = clamp((int)(sum >> SHIFT) - ZERO, 0, 255);
        if (copied)
            value = centre;
#if BORDER == NONE
        if (y + r < RADIUS_Y || y + r >= height - RADIUS_Y)
            value = centre;
#endif
        if (y + r < height)
            result[to_pitch * (y + r) + x] = value;
    }
}

#if IMAGE
#define IMAGE_PARAMETERS , read_only image2d_t texels, const int first_texel, const int first_row, const int plane_rows
#else
#define IMAGE_PARAMETERS
#endif

// Dimension 0 runs along the row: its blocks, then the bytes beside them, left ones first; 1 runs down the image,
// ROWS at a time; 2 over planes. Sizes are rounded up to whole work-groups. Pitches and offsets are in bytes. The two
// buffers do not overlap. Of an image, the texel and row of the first byte and the rows from plane to plane are
// arguments.
kernel void filter_pairs(global const uchar *restrict source, global uchar *restrict result, const uint from_offset,
                         const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                         const uint to_plane, const int width, const int height IMAGE_PARAMETERS)
{
    const int at = get_global_id(0), y = get_global_id(1) * ROWS, bytes = width * STEP;
    const uint plane = get_global_id(2);
    const int blocks = max((bytes - AHEAD - 4 * SIDE) / LANES, 0), beside = bytes - blocks * LANES;
    if (at >= blocks + beside || y >= height)
        return;
    source += from_offset + plane * from_plane;
    result += to_offset + plane * to_plane;
#if IMAGE
    const int2 origin = (int2)(first_texel, first_row + (int)plane * plane_rows);
#endif
    if (at < blocks) {
        filter_block(SAME_SOURCE, result, to_pitch, AHEAD + at * LANES, y, height);
    } else {
        const int x = at - blocks, skipped = x < AHEAD ? 0 : blocks * LANES;
        filter_byte(source, result, from_pitch, to_pitch, x + skipped, y, width, height);
    }
}
