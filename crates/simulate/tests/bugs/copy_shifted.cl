// A copy that starts one element late: the last work-item reads past the end.
kernel void copy_shifted(global const int *from, global int *to) {
    int i = get_global_id(0);
    to[i] = from[i + 1]; //~ ERROR out-of-bounds-read
}

kernel void copy_shifted_ok(global const int *from, global int *to) {
    int i = get_global_id(0);
    to[i] = from[min(i + 1, (int)get_global_size(0) - 1)];
}
