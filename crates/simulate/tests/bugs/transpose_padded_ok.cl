// A tile one column wider than the block, against bank conflicts: the last column is neither written nor read.
kernel void transpose_padded_ok(global const float *in, global float *out, int n) {
    local float tile[8][9];
    int lx = get_local_id(0), ly = get_local_id(1), left = get_group_id(0) * 8, top = get_group_id(1) * 8;
    tile[ly][lx] = in[(top + ly) * n + left + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(left + ly) * n + top + lx] = tile[lx][ly];
}
