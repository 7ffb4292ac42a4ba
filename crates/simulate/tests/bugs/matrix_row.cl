// Column 4 of row 1 is column 0 of row 2.
kernel void matrix_row(global int *out) {
    int m[4][4];
    for (int k = 0; k < 16; k++) m[k / 4][k % 4] = k;
    int i = get_global_id(0);
    out[i] = m[1][4 + (i & 1)]; //~ ERROR inner-array-bounds
}

kernel void matrix_row_ok(global int *out) {
    int m[4][4];
    for (int k = 0; k < 16; k++) m[k / 4][k % 4] = k;
    int i = get_global_id(0);
    out[i] = m[1][2 + (i & 1)];
}
