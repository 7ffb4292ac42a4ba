// A group of one work-item is in order with itself.
kernel void async_alone_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0);
    for (int k = 0; k < 8; k++) tile[k] = in[8 * i + k];
    event_t copied = async_work_group_copy(out + 8 * i, tile, 8, 0);
    wait_group_events(1, &copied);
    copied = async_work_group_copy(tile, in, 8, 0);
    wait_group_events(1, &copied);
    out[8 * i] = tile[7];
}
