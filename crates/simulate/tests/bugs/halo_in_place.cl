// A filter in place. Inside a group the tile makes it right; at its edges a neighbour may have written.
int sum_of_three(global const int *data, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), last = get_global_size(0) - 1;
    tile[l + 1] = data[i];
    if (l == 0) tile[0] = data[max(i - 1, 0)];
    if (l == 15) tile[17] = data[min(i + 1, last)];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return tile[l] + tile[l + 1] + tile[l + 2];
}

kernel void halo_in_place(global int *data, local int *tile) {
    int sum = sum_of_three(data, tile);
    data[get_global_id(0)] = sum; //~ ERROR data-race-between-groups
}

kernel void halo_in_place_ok(global const int *data, local int *tile, global int *out) {
    int sum = sum_of_three(data, tile);
    out[get_global_id(0)] = sum;
}
