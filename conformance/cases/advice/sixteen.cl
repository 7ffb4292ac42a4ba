kernel void edge16(global const uchar *in, global uchar *out) {
    const int x = 16 * get_global_id(0), y = get_global_id(1), w = 16 * get_global_size(0), i = x + w * y;
    const short16 s = (short)4 * convert_short16(vload16(0, in + i + w + 1)) - convert_short16(vload16(0,
        in + i + 1)) - convert_short16(vload16(0, in + i + w)) - convert_short16(vload16(0,
            in + i + w + 2)) - convert_short16(vload16(0, in + i + 2 * w + 1));
    vstore16(convert_uchar16(clamp(s, (short)0, (short)255)), 0, out + i + w + 1);
}
