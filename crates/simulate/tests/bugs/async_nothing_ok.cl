// Copies of no elements touch nothing, wherever they point; their events are waited for all the same.
kernel void async_nothing_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), left = 16 * (get_group_id(0) & 1);
    event_t copied = async_work_group_copy(tile, in + (left ? 0 : 1000), left, 0);
    wait_group_events(1, &copied);
    out[i] = left ? tile[l] : -1;
}
