// The last block is shorter than a tile, and a whole tile is copied all the same.
kernel void async_tail(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 16, 0); //~ ERROR out-of-bounds-read
    wait_group_events(1, &copied);
    if (i < n) out[i] = tile[l];
}

kernel void async_tail_ok(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0), base = i - l;
    event_t copied = async_work_group_copy(tile, in + base, min(16, n - base), 0);
    wait_group_events(1, &copied);
    if (i < n) out[i] = tile[l];
}
