kernel void interior(global const uchar *source, global uchar *result, const uint width) {
    const uint at = width * (1 + (uint)get_global_id(1)) + 1 + 16 * (uint)get_global_id(0);
    uchar16 a = vload16(0, source + at - 1), b = vload16(0, source + at), c = vload16(0, source + at + 1);
    vstore16(convert_uchar16((convert_ushort16(a) + convert_ushort16(b) + convert_ushort16(c)) / (ushort)3), 0,
        result + at);
}
