// Local memory passed in bytes, counted in elements.
kernel void local_argument_short(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0);
    tile[l] = in[get_global_id(0)]; //~ ERROR out-of-bounds-write
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[l ^ 1]; //~ ERROR out-of-bounds-read
}
