// Barriers in a branch and a loop whose conditions are the same for a group, though not for the range.
kernel void uniform_barrier_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0), group = get_group_id(0);
    int value = in[i];
    for (int k = 0; k < group; k++) {
        tile[l] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value += tile[15 - l];
        if (k + 1 < group) barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = value;
}
