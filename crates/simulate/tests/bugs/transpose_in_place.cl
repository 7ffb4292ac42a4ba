// Both ends of a swap swap.
kernel void transpose_in_place(global float *m, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float upper = m[y * n + x];
    m[y * n + x] = m[x * n + y]; //~ ERROR data-race
    m[x * n + y] = upper; //~ ERROR data-race
}

kernel void transpose_in_place_ok(global float *m, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x > y) {
        float upper = m[y * n + x];
        m[y * n + x] = m[x * n + y];
        m[x * n + y] = upper;
    }
}
