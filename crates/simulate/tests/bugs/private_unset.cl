// The table is filled for large problems only.
kernel void private_unset(global int *out, int n) {
    int table[4];
    int i = get_global_id(0);
    if (n > 1000) table[i & 3] = i;
    out[i] = table[i & 3]; //~ ERROR uninitialised-value
}

kernel void private_unset_ok(global int *out, int n) {
    int table[4] = {0, 0, 0, 0};
    int i = get_global_id(0);
    if (n > 1000) table[i & 3] = i;
    out[i] = table[i & 3];
}
