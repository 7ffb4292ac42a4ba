// Everybody adds to one cell of local memory.
kernel void local_accumulate(global const int *in, global int *sums, local int *sum) {
    int l = get_local_id(0);
    if (l == 0) sum[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum[0] += in[get_global_id(0)]; //~ ERROR data-race
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) sums[get_group_id(0)] = sum[0];
}

kernel void local_accumulate_ok(global const int *in, global int *sums, local int *sum) {
    int l = get_local_id(0);
    if (l == 0) sum[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sum[0], in[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) sums[get_group_id(0)] = sum[0];
}
