// What a pointer found in the last round points to has ended with that round.
kernel void loop_body_scope(global const int *in, global int *out) {
    int i = get_global_id(0);
    const int *best = 0;
    for (int k = 0; k < 4; k++) {
        int scaled = in[4 * i + k] * (k + 1);
        if (k == 3) best = &scaled;
    }
    out[i] = *best; //~ ERROR dangling-pointer
}

kernel void loop_body_scope_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int best = 0;
    for (int k = 0; k < 4; k++) {
        int scaled = in[4 * i + k] * (k + 1);
        if (k == 3) best = scaled;
    }
    out[i] = best;
}
