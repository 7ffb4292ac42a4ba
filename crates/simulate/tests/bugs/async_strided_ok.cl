// Every second element is copied out; work-items write and read those between while it is on its way.
kernel void async_strided_ok(global int *out, global const int *in, local int *tile) {
    int l = get_local_id(0), base = 16 * get_group_id(0);
    tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_strided_copy(out + 2 * base, tile, 16, 2, 0);
    out[2 * (base + l) + 1] = -tile[15 - l];
    wait_group_events(1, &copied);
}
