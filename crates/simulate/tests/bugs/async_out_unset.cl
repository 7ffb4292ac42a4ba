// Only some work-items have a result; the whole tile is copied out.
kernel void async_out_unset(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    if (in[base + l] & 1) tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0); //~ ERROR uninitialised-value
    wait_group_events(1, &copied);
}

kernel void async_out_unset_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = in[base + l] & 1 ? in[base + l] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    wait_group_events(1, &copied);
}
