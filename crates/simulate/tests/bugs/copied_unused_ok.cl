// An array set in part is copied in full; only what was set is stored.
kernel void copied_unused_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int from[4], to[4];
    from[i & 3] = in[i];
    for (int k = 0; k < 4; k++) to[k] = from[k];
    out[i] = to[i & 3];
}
