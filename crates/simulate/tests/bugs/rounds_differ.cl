// A barrier in a loop that each work-item runs as often as its own row is long.
kernel void rounds_differ(global const int *lengths, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = 0;
    for (int k = 0; k < lengths[i]; k++) {
        tile[l] += k;
        barrier(CLK_LOCAL_MEM_FENCE); //~ ERROR barrier-divergence
    }
    out[i] = tile[l];
}

kernel void rounds_differ_ok(global const int *lengths, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = 0;
    for (int k = 0; k < 64; k++) {
        if (k < lengths[i]) tile[l] += k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = tile[l];
}
