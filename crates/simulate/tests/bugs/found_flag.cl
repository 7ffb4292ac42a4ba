// Each work-item that finds something writes the flag, several at once.
kernel void found_flag(global const int *in, global int *found, int limit) {
    if (in[get_global_id(0)] > limit) found[0] = 1; //~ WARNING same-value-race
}

kernel void found_flag_ok(global const int *in, global int *found, int limit) {
    if (in[get_global_id(0)] > limit) atomic_or(&found[0], 1);
}
