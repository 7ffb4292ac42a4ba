// Counts bytes in local bins, 16 bytes a work-item, then adds the group's bins to the result. Groups of 64.
kernel void histogram(global const uchar *in, global uint *result) {
    local uint bins[256];
    int l = get_local_id(0);
    for (int bin = l; bin < 256; bin += 64) bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) atomic_inc(&bins[in[get_global_id(0) + k * get_global_size(0)]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int bin = l; bin < 256; bin += 64) atomic_add(&result[bin], bins[bin]);
}
