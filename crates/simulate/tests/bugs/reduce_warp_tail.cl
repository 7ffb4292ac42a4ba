// The last steps of the tree go without barriers, trusting in warps of 32 in step. Mali's have 4, 8 or 16.
kernel void reduce_warp_tail(global const float *in, global float *sums, local float *s) {
    int l = get_local_id(0);
    s[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 32; d > 0; d >>= 1) {
        if (l < d) s[l] += s[l + d]; //~ ERROR data-race
        if (d > 16) barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) sums[get_group_id(0)] = s[0];
}

kernel void reduce_warp_tail_ok(global const float *in, global float *sums, local float *s) {
    int l = get_local_id(0);
    s[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 32; d > 0; d >>= 1) {
        if (l < d) s[l] += s[l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) sums[get_group_id(0)] = s[0];
}
