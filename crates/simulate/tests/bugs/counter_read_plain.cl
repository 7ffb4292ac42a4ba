// The counter is read plainly while others count.
kernel void counter_read_plain(global int *count, global int *order) {
    atomic_inc(&count[0]);
    order[get_global_id(0)] = count[0]; //~ ERROR atomic-mixed
}

kernel void counter_read_plain_ok(global int *count, global int *order) {
    order[get_global_id(0)] = atomic_inc(&count[0]);
}
