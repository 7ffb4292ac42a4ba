// A scan step reads the left neighbour and writes the own cell: between the two all must have read.
kernel void scan_one_barrier(global const int *in, global int *out, local int *x) {
    int i = get_global_id(0), l = get_local_id(0);
    x[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 16; d <<= 1) {
        int left = l >= d ? x[l - d] : 0;
        x[l] += left; //~ ERROR data-race
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = x[l];
}

kernel void scan_one_barrier_ok(global const int *in, global int *out, local int *x) {
    int i = get_global_id(0), l = get_local_id(0);
    x[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 16; d <<= 1) {
        int left = l >= d ? x[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        x[l] += left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = x[l];
}
