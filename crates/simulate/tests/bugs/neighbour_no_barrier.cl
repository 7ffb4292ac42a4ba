// A neighbour's cell is read before the neighbour is known to have written it.
kernel void neighbour_no_barrier(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    int next = tile[(l + 1) % 16]; //~ ERROR data-race
    out[i] = next - in[i]; //~? ERROR uninitialised-value
}

kernel void neighbour_no_barrier_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int next = tile[(l + 1) % 16];
    out[i] = next - in[i];
}
