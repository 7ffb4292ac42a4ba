// Data in global memory, a barrier that orders local memory.
kernel void global_by_local_fence(global int *data, global int *out) {
    int i = get_global_id(0), l = get_local_id(0);
    data[i] *= 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = data[i - l + (l + 1) % 16]; //~ ERROR wrong-fence
}

kernel void global_by_local_fence_ok(global int *data, global int *out) {
    int i = get_global_id(0), l = get_local_id(0);
    data[i] *= 3;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = data[i - l + (l + 1) % 16];
}
