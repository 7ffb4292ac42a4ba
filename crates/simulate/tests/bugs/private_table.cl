// A table of four, an index up to five.
kernel void private_table(global int *out, int shift) {
    int squares[4];
    for (int k = 0; k < 4; k++) squares[k] = k * k;
    int i = get_global_id(0);
    out[i] = squares[(i + shift) % 6]; //~ ERROR out-of-bounds-read
}

kernel void private_table_ok(global int *out, int shift) {
    int squares[4];
    for (int k = 0; k < 4; k++) squares[k] = k * k;
    int i = get_global_id(0);
    out[i] = squares[(i + shift) % 4];
}
