// Two work-items write the two halves of a float2 through a float pointer.
kernel void disjoint_halves_ok(global const float *in, global float2 *out, local float2 *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    ((local float *)tile)[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 8) out[8 * get_group_id(0) + l] = tile[l];
}
