// Odd work-items leave the sub-group's sum out, and with it everybody.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

kernel void sub_group_in_branch(global const int *in, global int *out) {
    int i = get_global_id(0), sum = 0;
    if (get_sub_group_local_id() % 2 == 0)
        sum = sub_group_reduce_add(in[i]); //~ ERROR collective-divergence
    out[i] = sum;
}

kernel void sub_group_in_branch_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int mine = get_sub_group_local_id() % 2 == 0 ? in[i] : 0;
    int sum = sub_group_reduce_add(mine);
    out[i] = sum;
}
