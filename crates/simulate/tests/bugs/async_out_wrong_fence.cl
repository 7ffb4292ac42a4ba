// The barrier before the copy fences the memory that is copied to, not the tile.
kernel void async_out_wrong_fence(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = 2 * in[base + l];
    barrier(CLK_GLOBAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0); //~ ERROR wrong-fence
    wait_group_events(1, &copied);
}

kernel void async_out_wrong_fence_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = 2 * in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    wait_group_events(1, &copied);
}
