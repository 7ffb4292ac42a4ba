// One work-item publishes a value with release; a work-item that sees the flag with acquire may read the value.
kernel void release_acquire_ok(global const int *in, global int *out, local int *value) {
    local atomic_int ready;
    int i = get_global_id(0), l = get_local_id(0);
    if (l == 0) atomic_init(&ready, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        value[0] = in[i];
        atomic_store_explicit(&ready, 1, memory_order_release, memory_scope_work_group);
    }
    int seen = atomic_load_explicit(&ready, memory_order_acquire, memory_scope_work_group);
    out[i] = seen ? value[0] : -1;
}
