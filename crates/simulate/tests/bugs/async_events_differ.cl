// Half of the work-items join one event, half the other.
kernel void async_events_differ(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 4, 0);
    copied[1] = async_work_group_copy(tile + 4, in + i - l + 4, 4, 0);
    async_work_group_copy(tile + 8, in + i - l + 8, 8, copied[l / 8]); //~ ERROR async-copy-divergence
    wait_group_events(2, copied);
    out[i] = tile[l];
}

kernel void async_events_differ_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 4, 0);
    copied[1] = async_work_group_copy(tile + 4, in + i - l + 4, 4, 0);
    async_work_group_copy(tile + 8, in + i - l + 8, 8, copied[1]);
    wait_group_events(2, copied);
    out[i] = tile[l];
}
