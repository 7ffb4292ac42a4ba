// Eight work-items set bits of one byte: each reads it, adds its bit, and writes it back.
kernel void flag_bits(global const int *in, global uchar *out) {
    local uchar flags[2];
    int l = get_local_id(0);
    if (l < 2) flags[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (in[get_global_id(0)] != 5) flags[l / 8] |= 1 << (l & 7); //~ ERROR data-race
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 2) out[2 * get_group_id(0) + l] = flags[l];
}

kernel void flag_bits_ok(global const int *in, global uchar *out) {
    local uint flags[2];
    int l = get_local_id(0);
    if (l < 2) flags[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (in[get_global_id(0)] != 5) atomic_or(&flags[l / 8], 1u << (l & 7));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 2) out[2 * get_group_id(0) + l] = flags[l];
}
