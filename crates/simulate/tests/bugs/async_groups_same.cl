// Every group copies the same table out, to the same place.
kernel void async_groups_same(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = 2 * in[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out, tile, 16, 0); //~ WARNING same-value-race
    wait_group_events(1, &copied);
}

kernel void async_groups_same_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = 2 * in[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(0) == 0) {
        event_t copied = async_work_group_copy(out, tile, 16, 0);
        wait_group_events(1, &copied);
    }
}
