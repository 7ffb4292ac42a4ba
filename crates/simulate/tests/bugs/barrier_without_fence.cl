// A barrier of 0 makes all wait and orders nothing.
kernel void barrier_without_fence(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(0);
    out[i] = tile[l ^ 1]; //~ ERROR wrong-fence
}

kernel void barrier_without_fence_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[i] = tile[l ^ 1];
}
