// Rows are copied out as columns of a matrix that has one row less.
kernel void async_column_past_end(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), column = get_group_id(0);
    tile[l] = in[16 * column + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t copied = async_work_group_strided_copy(out + column, tile, 16, 4, 0); //~ ERROR out-of-bounds-write
    wait_group_events(1, &copied);
}
