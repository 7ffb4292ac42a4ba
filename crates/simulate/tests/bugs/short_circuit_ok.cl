// The right side of && is not evaluated where it would read past the end.
kernel void short_circuit_ok(global const float *in, global int *rises, int n) {
    int i = get_global_id(0);
    rises[i] = i + 1 < n && in[i + 1] > in[i] ? 1 : 0;
}
