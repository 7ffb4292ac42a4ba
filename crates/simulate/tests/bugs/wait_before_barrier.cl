// The leader waits for a flag that its group raises behind the next barrier.
kernel void wait_before_barrier(global int *out) {
    local int ready;
    int l = get_local_id(0);
    if (l == 0) atomic_xchg(&ready, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) while (atomic_or(&ready, 0) == 0); //~ WARNING infinite-loop
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 1) atomic_xchg(&ready, 1);
    out[get_global_id(0)] = l;
}

kernel void wait_before_barrier_ok(global int *out) {
    local int ready;
    int l = get_local_id(0);
    if (l == 0) atomic_xchg(&ready, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 1) atomic_xchg(&ready, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) while (atomic_or(&ready, 0) == 0);
    out[get_global_id(0)] = l;
}
