// One load of 16 bytes, every second one of them, one store of eight.
kernel void luma(global const uchar *yuyv, global uchar *to) {
    int i = get_global_id(0);
    vstore8(vload16(i, yuyv).even, i, to);
}
