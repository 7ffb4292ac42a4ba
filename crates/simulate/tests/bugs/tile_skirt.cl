// An 8x8 block with a skirt of one. The right tap is one too far right and takes the next row's left skirt.
void load(local float tile[10][10], global const float *in) {
    int at = get_local_id(1) * 8 + get_local_id(0);
    int left = get_group_id(0) * 8 - 1, top = get_group_id(1) * 8 - 1;
    for (int k = at; k < 100; k += 64)
        tile[k / 10][k % 10] = in[clamp(top + k / 10, 0, 15) * 16 + clamp(left + k % 10, 0, 15)];
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void tile_skirt(global const float *in, global float *out) {
    local float tile[10][10];
    int lx = get_local_id(0), ly = get_local_id(1);
    load(tile, in);
    float slope = tile[ly + 1][lx + 3] - tile[ly + 1][lx]; //~ ERROR inner-array-bounds
    out[get_global_id(1) * 16 + get_global_id(0)] = slope;
}

kernel void tile_skirt_ok(global const float *in, global float *out) {
    local float tile[10][10];
    int lx = get_local_id(0), ly = get_local_id(1);
    load(tile, in);
    float slope = tile[ly + 1][lx + 2] - tile[ly + 1][lx];
    out[get_global_id(1) * 16 + get_global_id(0)] = slope;
}
