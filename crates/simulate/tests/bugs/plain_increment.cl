// One work-item adds without an atomic.
kernel void plain_increment(global int *sum) {
    if (get_global_id(0) == 0)
        sum[0] = sum[0] + 1; //~ ERROR atomic-mixed
    else
        atomic_add(&sum[0], 1);
}

kernel void plain_increment_ok(global int *sum) {
    if (get_global_id(0) == 0)
        atomic_inc(&sum[0]);
    else
        atomic_add(&sum[0], 1);
}
