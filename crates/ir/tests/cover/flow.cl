// Control flow: loops, switch, goto into loops, early returns, calls, unwritten variables.
// options: -cl-std=CL2.0
int helper(int x, global int *p) { if (x < 0) return -1; for (int i = 0; i < x; ++i) if (p[i] == 7) return i; return x; }
void fill(int *p, int n) { do { *p++ = n; } while (--n > 0); }
kernel void calls(global int *a, int n) {
    int t[8];
    fill(t, n);
    a[0] = helper(n, a) + helper(n + 1, a + 1) + t[n];
}
kernel void switches(global int *a, long l, uchar c) {
    switch (a[0]) { case -5: a[1] = 1; break; case 0: case 1: a[1] = 2; case 1000: a[2] = 3; break; default: return; }
    switch (l) { case 1L << 40: a[3] = 1; break; case -1L: a[3] = 2; break; }
    switch (c) { case 255: a[4] = 1; break; default: a[4] = 2; }
}
kernel void irreducible(global int *a, int n) {
    int i = 0;
    if (n > 3) goto middle;
top:
    a[i] = i;
middle:
    i++;
    if (i < n) goto top;
    a[0] = i;
}
kernel void nested(global float *a, int n, int m) {
    float s = 0;
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < m; x += 2) {
            if (a[y * m + x] < 0) continue;
            if (a[y * m + x] > 100) break;
            s += a[y * m + x];
        }
        while (s > 10) s *= 0.5f;
    }
    a[0] = s;
}
kernel void endless(global int *a) { for (;;) a[0]++; }
kernel void unwritten(global int *a, int n) { int t; if (n) t = 3; a[0] = t; }
kernel __attribute__((reqd_work_group_size(8, 4, 1))) __attribute__((work_group_size_hint(8, 4, 1), vec_type_hint(half8)))
void sized(global int *a) { a[get_global_id(0)] = get_local_size(0); }
kernel void queries(global size_t *a, uint d) {
    a[0] = get_global_id(0) + get_global_id(1) + get_global_id(2) + get_global_size(0) + get_global_offset(1);
    a[1] = get_local_id(2) + get_local_size(1) + get_group_id(0) + get_num_groups(2) + get_work_dim();
    a[2] = get_global_id(d) + get_global_id(3) + get_enqueued_local_size(0) + get_global_linear_id();
    a[3] = get_local_linear_id() + get_local_size(7);
}
kernel void prints(global int *a, float4 v, constant char *s) {
    printf("none\n");
    printf("%d %u %ld %f %v4f %s %c %% %p\n", a[0], 3u, 7L, v.x, v, "text", 'c', a);
    int n = printf("%#v4hlx\n", a[0]);
    a[1] = n;
}
