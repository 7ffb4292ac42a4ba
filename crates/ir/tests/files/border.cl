// Vectors stay vectors, an inlined call keeps both places, a switch keeps its cases.
short16 row(global const uchar *p) { return convert_short16(vload16(0, p)); }
kernel void border(global const uchar *in, global uchar *out, int width, int mode) {
    int at = get_global_id(1) * width + get_global_id(0) * 16;
    short16 sum = (short)2 * row(in + at) - row(in + at + 1);
    switch (mode) {
    case 0: sum = abs_diff(sum, (short16)7) ? sum : -sum; break;
    case 3: return;
    }
    vstore16(convert_uchar16_sat(sum), 0, out + at);
}
