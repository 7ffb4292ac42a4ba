// The remainder would be 0, but the division it comes from has no result.
kernel void remainder_by_minus_one(global const int *samples, global int *out, int divisor) {
    int i = get_global_id(0);
    out[i] = samples[i] % divisor; //~ ERROR division-overflow
}

kernel void remainder_by_minus_one_ok(global const int *samples, global int *out, int divisor) {
    int i = get_global_id(0);
    out[i] = divisor == -1 ? 0 : samples[i] % divisor;
}
