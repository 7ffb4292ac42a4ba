// The range has two groups too many, and they return as a whole.
kernel void whole_group_returns_ok(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    if (i >= n) return;
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[15 - l];
}
