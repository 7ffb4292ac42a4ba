// Rows of eight bytes, sums of eight shorts: 128 bits, a register of Midgard.
kernel void sharpen(global const uchar *from, global uchar *to, int width) {
    int x = 8 * get_global_id(0), y = get_global_id(1), row = width + 2;
    global const uchar *corner = from + y * row + x;
    short8 sum = (short8)10 * convert_short8(vload8(0, corner + row + 1));
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) sum -= convert_short8(vload8(0, corner + dy * row + dx));
    vstore8(convert_uchar8_sat(sum), 0, to + y * width + x);
}
