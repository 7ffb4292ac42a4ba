// The end mark of a list goes one behind the list.
kernel void end_marker(global int *list, int n) {
    int i = get_global_id(0);
    list[i] = i;
    if (i == n - 1) list[n] = -1; //~ ERROR out-of-bounds-write
}

kernel void end_marker_ok(global int *list, int n) {
    int i = get_global_id(0);
    list[i] = i == n - 1 ? -1 : i;
}
