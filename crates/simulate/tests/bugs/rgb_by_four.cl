// Packed RGB read four bytes at a time: the last pixel takes a byte behind the image.
uchar gray(uint r, uint g, uint b) {
    return (77 * r + 150 * g + 29 * b) >> 8;
}

kernel void rgb_by_four(global const uchar *rgb, global uchar *out, int width) {
    int at = get_global_id(1) * width + get_global_id(0);
    uchar4 p = vload4(0, rgb + 3 * at); //~ ERROR out-of-bounds-read
    out[at] = gray(p.x, p.y, p.z);
}

kernel void rgb_by_four_ok(global const uchar *rgb, global uchar *out, int width) {
    int at = get_global_id(1) * width + get_global_id(0);
    uchar3 p = vload3(0, rgb + 3 * at);
    out[at] = gray(p.x, p.y, p.z);
}
