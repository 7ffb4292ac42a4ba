// Half of the work-items wait for one copy, half for the other.
kernel void async_waits_differ(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 8, 0);
    copied[1] = async_work_group_copy(tile + 8, in + i - l + 8, 8, 0);
    wait_group_events(1, &copied[l / 8]); //~ ERROR async-copy-divergence
    out[i] = tile[l];
}

kernel void async_waits_differ_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 8, 0);
    copied[1] = async_work_group_copy(tile + 8, in + i - l + 8, 8, 0);
    wait_group_events(2, copied);
    out[i] = tile[l];
}
