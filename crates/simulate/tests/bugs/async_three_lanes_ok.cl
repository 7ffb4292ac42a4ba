// The fourth element behind three lanes is padding, which is copied with them.
kernel void async_three_lanes_ok(global const float3 *in, global float3 *out, local float3 *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = 2 * in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_copy(out + base, tile, 16, 0);
    wait_group_events(1, &copied);
}
