// The last work-item's right neighbour is not in the tile.
kernel void local_tile_end(global const int *in, global int *out) {
    local int tile[16];
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[l + 1]; //~ ERROR out-of-bounds-read
}

kernel void local_tile_end_ok(global const int *in, global int *out) {
    local int tile[16];
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[min(l + 1, 15)];
}
