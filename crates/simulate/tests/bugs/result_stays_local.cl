// The result is left in local memory.
kernel void result_stays_local(global const float *in, local float *tile) { //~ WARNING kernel-without-effect
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0)
        for (int k = 1; k < 16; k++) tile[0] += tile[k];
}

kernel void result_stays_local_ok(global const float *in, local float *tile, global float *sums) {
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        for (int k = 1; k < 16; k++) tile[0] += tile[k];
        sums[get_group_id(0)] = tile[0];
    }
}
