// The halo was added to the copy and not to the tile.
kernel void async_tile_short(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied = async_work_group_copy(tile, in + i - l, 18, 0); //~ ERROR out-of-bounds-write
    wait_group_events(1, &copied);
    out[i] = tile[l];
}
