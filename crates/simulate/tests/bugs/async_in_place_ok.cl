// A block is copied in, and each work-item then changes its own element where it came from; prefetching does nothing.
kernel void async_in_place_ok(global int *data, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), before = data[i];
    prefetch(data + i, 16);
    event_t copied = async_work_group_copy(tile, data + i - l, 16, 0);
    wait_group_events(1, &copied);
    data[i] = before + tile[l];
    barrier(CLK_GLOBAL_MEM_FENCE);
    copied = async_work_group_copy(tile + 16, data + i - l, 16, 0);
    wait_group_events(1, &copied);
    data[i] = tile[31 - l];
}
