// Data in local memory, a barrier that orders global memory.
kernel void local_by_global_fence(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = tile[15 - l]; //~ ERROR wrong-fence
}

kernel void local_by_global_fence_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[15 - l];
}
