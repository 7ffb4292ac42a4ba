// Surplus work-items return.
kernel void add(global const float *a, global const float *b, global float *c, int count) {
    int i = get_global_id(0);
    if (i >= count) return;
    c[i] = a[i] + b[i];
}
