// Whose value is broadcast must be agreed on.
kernel void broadcast_from_each(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = work_group_broadcast(in[i], 15 - get_local_id(0)); //~ ERROR collective-divergence
}

kernel void broadcast_from_each_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = work_group_broadcast(in[i], 15);
}
