kernel void d(global const char4 *a, global const char4 *b, global int *o) { int i = get_global_id(0);
    o[i] = arm_dot_acc(a[i], b[i], o[i]); }
