// Three bytes a pixel, read as one word of four.
kernel void uint_from_rgb(global const uchar *rgb, global uint *out) {
    int i = get_global_id(0);
    out[i] = *(global const uint *)(rgb + 3 * i) & 0xffffff; //~ ERROR misaligned-access
}

kernel void uint_from_rgb_ok(global const uchar *rgb, global uint *out) {
    int i = get_global_id(0);
    uchar3 p = vload3(i, rgb);
    out[i] = p.x | p.y << 8 | p.z << 16;
}
