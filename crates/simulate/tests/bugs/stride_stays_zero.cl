// Half of 0 is 0, and 0 is not less than 0.
kernel void stride_stays_zero(global const int *in, global int *out) {
    int sum = in[get_global_id(0)];
    for (int d = 8; d >= 0; d >>= 1) sum ^= d; //~ WARNING infinite-loop
    out[get_global_id(0)] = sum;
}

kernel void stride_stays_zero_ok(global const int *in, global int *out) {
    int sum = in[get_global_id(0)];
    for (int d = 8; d > 0; d >>= 1) sum ^= d;
    out[get_global_id(0)] = sum;
}
