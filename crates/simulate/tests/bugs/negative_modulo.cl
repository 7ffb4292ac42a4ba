// The remainder of a negative number is negative.
kernel void negative_modulo(global const int *ring, global int *out, int n) {
    int i = get_global_id(0);
    out[i] = ring[(i - 3) % n]; //~ ERROR out-of-bounds-read
}

kernel void negative_modulo_ok(global const int *ring, global int *out, int n) {
    int i = get_global_id(0);
    out[i] = ring[(i - 3 + n) % n];
}
