// Each work-item asks for the block that starts at itself, not at the group.
kernel void async_source(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i, 16, 0); //~ ERROR async-copy-divergence
    wait_group_events(1, &copied);
    out[i] = tile[l];
}

kernel void async_source_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 16, 0);
    wait_group_events(1, &copied);
    out[i] = tile[l];
}
