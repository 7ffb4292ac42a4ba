// Nothing in the group is greater than its greatest element.
kernel void not_found(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), i = get_global_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    local const int *greater = 0;
    for (int k = 0; k < 16; k++)
        if (tile[k] > tile[l]) greater = &tile[k];
    out[i] = *greater; //~ ERROR null-pointer
}

kernel void not_found_ok(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), i = get_global_id(0);
    tile[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    local const int *greater = 0;
    for (int k = 0; k < 16; k++)
        if (tile[k] > tile[l]) greater = &tile[k];
    out[i] = greater ? *greater : tile[l];
}
