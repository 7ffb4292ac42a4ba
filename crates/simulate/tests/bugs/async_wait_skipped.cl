// Work-items that need nothing of the tile do not wait for it.
kernel void async_wait_skipped(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 16, 0);
    int value = -1;
    if (in[i] % 3) {
        wait_group_events(1, &copied); //~ ERROR async-copy-divergence
        value = tile[l];
    }
    out[i] = value;
}

kernel void async_wait_skipped_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 16, 0);
    int value = -1;
    wait_group_events(1, &copied);
    if (in[i] % 3) value = tile[l];
    out[i] = value;
}
