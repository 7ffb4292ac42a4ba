// The tile's edges are loaded by the work-items beside them; the corner is beside nobody.
kernel void tile_corner(global const float *in, global float *out, int pitch) {
    local float tile[9][9];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    tile[ly][lx] = in[y * pitch + x];
    if (lx == 7) tile[ly][8] = in[y * pitch + x + 1];
    if (ly == 7) tile[8][lx] = in[(y + 1) * pitch + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    float right = tile[ly][lx] + tile[ly][lx + 1];
    float below = tile[ly + 1][lx] + tile[ly + 1][lx + 1];
    out[y * get_global_size(0) + x] = 0.25f * (right + below); //~ ERROR uninitialised-value
}

kernel void tile_corner_ok(global const float *in, global float *out, int pitch) {
    local float tile[9][9];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    tile[ly][lx] = in[y * pitch + x];
    if (lx == 7) tile[ly][8] = in[y * pitch + x + 1];
    if (ly == 7) tile[8][lx] = in[(y + 1) * pitch + x];
    if (lx == 7 && ly == 7) tile[8][8] = in[(y + 1) * pitch + x + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    float right = tile[ly][lx] + tile[ly][lx + 1];
    float below = tile[ly + 1][lx] + tile[ly + 1][lx + 1];
    out[y * get_global_size(0) + x] = 0.25f * (right + below);
}
