// The second block is read before it is waited for.
kernel void async_read_early(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in, 16, 0);
    wait_group_events(1, &copied);
    int sum = tile[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    copied = async_work_group_copy(tile, in + 16, 16, 0);
    sum += tile[15 - l]; //~ ERROR async-copy-unwaited
    wait_group_events(1, &copied);
    out[i] = sum;
}

kernel void async_read_early_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in, 16, 0);
    wait_group_events(1, &copied);
    int sum = tile[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    copied = async_work_group_copy(tile, in + 16, 16, 0);
    wait_group_events(1, &copied);
    sum += tile[15 - l];
    out[i] = sum;
}
