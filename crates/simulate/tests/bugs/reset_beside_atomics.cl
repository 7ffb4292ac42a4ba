// The leader resets the counter while others count already.
kernel void reset_beside_atomics(global int *counts) {
    int group = get_group_id(0);
    if (get_local_id(0) == 0) counts[group] = 0; //~ ERROR atomic-mixed
    atomic_inc(&counts[group]);
}

kernel void reset_beside_atomics_ok(global int *counts) {
    int group = get_group_id(0);
    if (get_local_id(0) == 0) counts[group] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(&counts[group]);
}
