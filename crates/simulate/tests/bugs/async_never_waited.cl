// The kernel ends while its results are on their way.
kernel void async_never_waited(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = 2 * in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    async_work_group_copy(out + 16 * get_group_id(0), tile, 16, 0); //~ ERROR async-copy-unwaited
}

kernel void async_never_waited_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = 2 * in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + 16 * get_group_id(0), tile, 16, 0);
    wait_group_events(1, &copied);
}
