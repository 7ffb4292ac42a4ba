// What the host has not written is copied in, and then decides.
kernel void async_in_unset(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 16, 0);
    wait_group_events(1, &copied);
    out[i] = 0;
    if (tile[15 - l] > 3) out[i] = 1; //~ ERROR uninitialised-value
}
