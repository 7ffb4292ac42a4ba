// The tile is used again while it is still copied out.
kernel void async_source_changed(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    tile[l] = -1; //~ ERROR async-copy-unwaited
    wait_group_events(1, &copied);
}

kernel void async_source_changed_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    wait_group_events(1, &copied);
    tile[l] = -1;
}
