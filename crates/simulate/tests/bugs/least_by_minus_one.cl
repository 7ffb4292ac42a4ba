// The least int has no negative.
kernel void least_by_minus_one(global const int *samples, global int *out, int divisor) {
    int i = get_global_id(0);
    out[i] = samples[i] / divisor; //~ ERROR division-overflow
}

kernel void least_by_minus_one_ok(global const int *samples, global int *out, int divisor) {
    int i = get_global_id(0);
    out[i] = convert_int_sat((long)samples[i] / divisor);
}
