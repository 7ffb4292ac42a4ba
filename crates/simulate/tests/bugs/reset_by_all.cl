// All reset the group's counter before they count.
kernel void reset_by_all(global const int *in, global int *out, local int *count) {
    count[0] = 0; //~ WARNING same-value-race
    barrier(CLK_LOCAL_MEM_FENCE);
    if (in[get_global_id(0)] & 1) atomic_inc(&count[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) out[get_group_id(0)] = count[0];
}

kernel void reset_by_all_ok(global const int *in, global int *out, local int *count) {
    if (get_local_id(0) == 0) count[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (in[get_global_id(0)] & 1) atomic_inc(&count[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) out[get_group_id(0)] = count[0];
}
