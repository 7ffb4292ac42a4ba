// A byte never gets to 300.
kernel void byte_counter(global int *out, int n) {
    int sum = 0;
    for (uchar k = 0; k < n; k++) sum ^= k; //~ WARNING infinite-loop
    out[get_global_id(0)] = sum;
}

kernel void byte_counter_ok(global int *out, int n) {
    int sum = 0;
    for (ushort k = 0; k < n; k++) sum ^= k;
    out[get_global_id(0)] = sum;
}
