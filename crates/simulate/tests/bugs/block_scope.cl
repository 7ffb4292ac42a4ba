// The array is gone when its block ends.
kernel void block_scope(global const int *in, global int *out) {
    int i = get_global_id(0);
    const int *chosen;
    {
        int both[2] = {in[i], -in[i]};
        chosen = both;
    }
    out[i] = chosen[i & 1]; //~ ERROR dangling-pointer
}

kernel void block_scope_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int both[2];
    const int *chosen = both;
    {
        both[0] = in[i];
        both[1] = -in[i];
    }
    out[i] = chosen[i & 1];
}
