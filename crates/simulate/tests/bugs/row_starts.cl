// Sparse rows: n rows have n + 1 starts.
kernel void row_starts(global int *starts, int row_length) {
    int row = get_global_id(0);
    if (row == 0) starts[0] = 0;
    starts[row + 1] = (row + 1) * row_length; //~ ERROR out-of-bounds-write
}
