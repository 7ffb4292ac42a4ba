// Sharpens gray pixels: nine times a pixel less its eight neighbours. `from` has a border of one pixel, `to` has none.
// A work-item has eight pixels beside each other; `width` is a multiple of eight.
kernel void sharpen(global const uchar *from, global uchar *to, int width) {
    int x = 8 * get_global_id(0), y = get_global_id(1), row = width + 2;
    for (int k = 0; k < 8; k++) {
        global const uchar *corner = from + y * row + x + k;
        int sum = 10 * corner[row + 1];
        for (int dy = 0; dy < 3; dy++)
            for (int dx = 0; dx < 3; dx++) sum -= corner[dy * row + dx];
        to[y * width + x + k] = convert_uchar_sat(sum);
    }
}
