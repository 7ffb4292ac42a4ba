// Group leaders add to one total; barriers inside the groups do not help.
kernel void leader_total(global const int *in, global int *total, local int *tile) {
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += tile[k];
        total[0] += sum; //~ ERROR data-race-between-groups
    }
}

kernel void leader_total_ok(global const int *in, global int *total, local int *tile) {
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        int sum = 0;
        for (int k = 0; k < 16; k++) sum += tile[k];
        atomic_add(&total[0], sum);
    }
}
