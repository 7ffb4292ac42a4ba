// The brightness of a frame in YUYV, where every second byte is one. A work-item has eight pixels: 16 bytes in, 8 out.
kernel void luma(global const uchar *yuyv, global uchar *to) {
    int i = get_global_id(0);
    for (int k = 0; k < 8; k++) to[8 * i + k] = yuyv[2 * (8 * i + k)];
}
