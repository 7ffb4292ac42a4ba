// The same buffer twice is fine where nobody writes it.
kernel void restrict_both_read_ok(
    global const float *restrict a, global const float *restrict b, global float *restrict out) {
    int i = get_global_id(0);
    out[i] = a[i] * b[63 - i];
}
