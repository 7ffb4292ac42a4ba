// Blocks of 16 laid 15 apart: their ends overlap.
kernel void overlapping_blocks(global const int *in, global int *out) {
    int at = 15 * get_group_id(0) + get_local_id(0);
    out[at] = in[get_global_id(0)]; //~ ERROR data-race-between-groups
}

kernel void overlapping_blocks_ok(global const int *in, global int *out) {
    int at = 16 * get_group_id(0) + get_local_id(0);
    out[at] = in[get_global_id(0)];
}
