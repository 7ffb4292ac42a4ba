// Two events are waited for, and one has been made.
kernel void async_event_unset(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 16, 0);
    wait_group_events(2, copied); //~ ERROR uninitialised-value
    out[i] = tile[l];
}

kernel void async_event_unset_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in + i - l, 16, 0);
    wait_group_events(1, copied);
    out[i] = tile[l];
}
