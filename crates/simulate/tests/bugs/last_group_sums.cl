// The last group to arrive adds up what all have stored. A relaxed counter tells it that it is the last, but
// not that the others' sums have arrived.
kernel void last_group_sums(
    global const int *in, global int *partial, volatile global atomic_int *arrived, global int *total) {
    int group = get_group_id(0), groups = get_num_groups(0);
    int sum = work_group_reduce_add(in[get_global_id(0)]);
    if (get_local_id(0) == 0) {
        partial[group] = sum;
        int before = atomic_fetch_add_explicit(arrived, 1, memory_order_relaxed, memory_scope_device);
        if (before == groups - 1) {
            int all = 0;
            for (int k = 0; k < groups; k++)
                all += partial[k]; //~ ERROR data-race-between-groups
            total[0] = all;
        }
    }
}

kernel void last_group_sums_ok(
    global const int *in, global int *partial, volatile global atomic_int *arrived, global int *total) {
    int group = get_group_id(0), groups = get_num_groups(0);
    int sum = work_group_reduce_add(in[get_global_id(0)]);
    if (get_local_id(0) == 0) {
        partial[group] = sum;
        int before = atomic_fetch_add_explicit(arrived, 1, memory_order_acq_rel, memory_scope_device);
        if (before == groups - 1) {
            int all = 0;
            for (int k = 0; k < groups; k++) all += partial[k];
            total[0] = all;
        }
    }
}
