// Long, and it ends.
kernel void long_loop_ok(global uint *out) {
    uint state = get_global_id(0);
    for (int k = 0; k < 20000; k++) state = 1664525u * state + 1013904223u;
    out[get_global_id(0)] = state;
}
