// The same local memory, first as floats, then as integers, with a barrier between.
kernel void local_reuse_ok(global const float *in, global int *out, local float *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float mirrored = tile[15 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
    local int *ranks = (local int *)tile;
    ranks[l] = (int)mirrored;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = ranks[l ^ 8];
}
