// A fence orders one work-item's accesses; it waits for nobody.
kernel void fence_is_no_barrier(global int *data, global int *out) {
    int i = get_global_id(0), l = get_local_id(0);
    data[i] *= 2;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    out[i] = data[i - l + (l + 1) % 16]; //~ ERROR data-race
}

kernel void fence_is_no_barrier_ok(global int *data, global int *out) {
    int i = get_global_id(0), l = get_local_id(0);
    data[i] *= 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = data[i - l + (l + 1) % 16];
}
