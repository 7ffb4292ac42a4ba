// Half of the group mirrors eight values; the other half never comes to the barrier.
kernel void barrier_in_branch(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 8 * get_group_id(0);
    if (l < 8) {
        tile[l] = in[base + l];
        barrier(CLK_LOCAL_MEM_FENCE); //~ ERROR barrier-divergence
        out[base + l] = tile[7 - l];
    }
}

kernel void barrier_in_branch_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), base = 8 * get_group_id(0);
    if (l < 8) tile[l] = in[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 8) out[base + l] = tile[7 - l];
}
