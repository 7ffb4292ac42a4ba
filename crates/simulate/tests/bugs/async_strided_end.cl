// A column has as many elements as there are rows, and starts in the first: the last one of these does not.
kernel void async_strided_end(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), column = get_group_id(0) + 1;
    event_t copied = async_work_group_strided_copy(tile, in + column, 16, 4, 0); //~ ERROR out-of-bounds-read
    wait_group_events(1, &copied);
    out[16 * get_group_id(0) + l] = tile[l];
}

kernel void async_strided_end_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), column = get_group_id(0);
    event_t copied = async_work_group_strided_copy(tile, in + column, 16, 4, 0);
    wait_group_events(1, &copied);
    out[16 * get_group_id(0) + l] = tile[l];
}
