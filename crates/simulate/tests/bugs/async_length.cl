// A group copies together: all must ask for the same.
kernel void async_length(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 8 + l / 8, 0); //~ ERROR async-copy-divergence
    wait_group_events(1, &copied);
    out[i] = tile[l & 7];
}

kernel void async_length_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 8, 0);
    wait_group_events(1, &copied);
    out[i] = tile[l & 7];
}
