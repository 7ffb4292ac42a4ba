// Work-items past the end of the row return, and the rest of their group waits for them.
kernel void early_return(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    if (i >= n) return;
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE); //~ ERROR barrier-divergence
    out[i] = tile[l ^ 1];
}

kernel void early_return_ok(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    if (i < n) tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) out[i] = tile[l ^ 1];
}
