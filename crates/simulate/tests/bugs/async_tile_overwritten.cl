// The next tile is copied over the one that neighbours still read.
kernel void async_tile_overwritten(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), sum = 0;
    for (int block = 0; block < 4; block++) {
        event_t copied = async_work_group_copy(tile, in + 16 * block, 16, 0); //~ ERROR data-race
        wait_group_events(1, &copied);
        sum += tile[l] * tile[15 - l];
    }
    out[i] = sum;
}

kernel void async_tile_overwritten_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), sum = 0;
    for (int block = 0; block < 4; block++) {
        event_t copied = async_work_group_copy(tile, in + 16 * block, 16, 0);
        wait_group_events(1, &copied);
        sum += tile[l] * tile[15 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum;
}
