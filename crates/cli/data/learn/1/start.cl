// c = a + b for `count` numbers. The launch has work-groups of 64, so it has more work-items than numbers.
kernel void add(global const float *a, global const float *b, global float *c, int count) {
    int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
