// Odd work-items read an element that nobody has written, and choose another value instead. The sum of the group has
// nothing to do with it.
kernel void unset_then_sum_ok(global int *out, int odd) {
    int table[2];
    table[0] = 7;
    int i = get_global_id(0);
    int value = table[i & odd];
    bool even = (i & odd) == 0;
    int chosen = even ? value : 0;
    int all = work_group_reduce_add(i);
    out[i] = chosen + all;
}
