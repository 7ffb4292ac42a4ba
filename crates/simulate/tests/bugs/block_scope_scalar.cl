// The variable is gone when its block ends.
kernel void block_scope_scalar(global const int *in, global int *out) {
    int i = get_global_id(0);
    const int *chosen;
    {
        int doubled = 2 * in[i];
        chosen = &doubled;
    }
    out[i] = *chosen; //~ ERROR dangling-pointer
}

kernel void block_scope_scalar_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int doubled = 2 * in[i];
    const int *chosen = &doubled;
    out[i] = *chosen;
}
