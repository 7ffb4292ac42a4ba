// Bins are written out before all have counted.
kernel void bins_read_early(global const int *in, global int *histogram, local int *bins) {
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[in[get_global_id(0)] / 4 % 16]);
    histogram[get_global_id(0)] = bins[l]; //~ ERROR atomic-mixed
}

kernel void bins_read_early_ok(global const int *in, global int *histogram, local int *bins) {
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[in[get_global_id(0)] / 4 % 16]);
    barrier(CLK_LOCAL_MEM_FENCE);
    histogram[get_global_id(0)] = bins[l];
}
