// Counting without atomics loses counts.
kernel void histogram_plain(global const int *in, global int *histogram, local int *bins) {
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    bins[in[get_global_id(0)] / 4 % 16]++; //~ ERROR data-race
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&histogram[l], bins[l]);
}

kernel void histogram_plain_ok(global const int *in, global int *histogram, local int *bins) {
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[in[get_global_id(0)] / 4 % 16]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&histogram[l], bins[l]);
}
