// Every group copies a halo of results as well, which is the next group's to write.
kernel void async_groups_overlap(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = 2 * in[base + l];
    if (l < 2) tile[16 + l] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 18, 0); //~ ERROR data-race-between-groups
    wait_group_events(1, &copied);
}

kernel void async_groups_overlap_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = 2 * in[base + l];
    if (l < 2) tile[16 + l] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    wait_group_events(1, &copied);
}
