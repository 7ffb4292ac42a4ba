// The tile is made for groups of 16; the launch has groups of 32.
kernel void group_larger_than_tile(global const float *in, global float *out) {
    local float tile[16];
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)]; //~ ERROR out-of-bounds-write
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[get_local_size(0) - 1 - l]; //~ ERROR out-of-bounds-read
}
