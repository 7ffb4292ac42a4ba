// Everybody meets a barrier, but not the same one.
kernel void two_barriers(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    if (l < 8) {
        tile[l] = in[i];
        barrier(CLK_LOCAL_MEM_FENCE); //~ ERROR barrier-divergence
    } else {
        tile[l] = -in[i];
        barrier(CLK_LOCAL_MEM_FENCE); //~ ERROR barrier-divergence
    }
    out[i] = tile[l];
}

kernel void two_barriers_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = l < 8 ? in[i] : -in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l];
}
