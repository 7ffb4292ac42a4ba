// Only those with an element take part in the group's sum.
kernel void reduce_in_branch(global const int *in, global int *sums, int n) {
    int i = get_global_id(0);
    if (i < n) {
        int sum = work_group_reduce_add(in[i]); //~ ERROR collective-divergence
        if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
    }
}

kernel void reduce_in_branch_ok(global const int *in, global int *sums, int n) {
    int i = get_global_id(0);
    int sum = work_group_reduce_add(i < n ? in[i] : 0);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = sum;
}
