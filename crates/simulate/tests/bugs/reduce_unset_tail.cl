// In the last group only two work-items have an element; the tree adds all sixteen cells.
kernel void reduce_unset_tail(global const int *in, global int *sums, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    if (i < n) tile[l] = in[i];
    for (int d = 8; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) tile[l] += tile[l + d];
    }
    if (l == 0) sums[get_group_id(0)] = tile[0]; //~ ERROR uninitialised-value
}

kernel void reduce_unset_tail_ok(global const int *in, global int *sums, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = i < n ? in[i] : 0;
    for (int d = 8; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) tile[l] += tile[l + d];
    }
    if (l == 0) sums[get_group_id(0)] = tile[0];
}
