kernel void cl2(global int *a) { int *p = a + get_global_id(0); int s = work_group_reduce_add(*p);
    atomic_fetch_add((global atomic_int *)a, s); }
