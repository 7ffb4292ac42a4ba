// Barriers, fences, atomics of both styles, asynchronous copies, work-group and sub-group functions, dot products.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void barriers(global int *a, local int *l) {
    barrier(CLK_LOCAL_MEM_FENCE); barrier(CLK_GLOBAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    mem_fence(CLK_LOCAL_MEM_FENCE); read_mem_fence(CLK_GLOBAL_MEM_FENCE); write_mem_fence(CLK_LOCAL_MEM_FENCE);
    work_group_barrier(CLK_LOCAL_MEM_FENCE); work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    a[0] = l[0];
}
#define OLD(S, T) \
    kernel void old_##S##_##T(volatile S T *p, global T *out) { \
        out[0] = atomic_add(p, 1) + atomic_sub(p, 2) + atomic_xchg(p, 3) + atomic_inc(p) + atomic_dec(p); \
        out[1] = atomic_cmpxchg(p, 4, 5) + atomic_min(p, 6) + atomic_max(p, 7) + atomic_and(p, 8) + atomic_or(p, 9); \
        out[2] = atomic_xor(p, 10); \
    }
OLD(global, int) OLD(global, uint) OLD(local, int) OLD(local, uint)
kernel void old_long(volatile global long *p, volatile local ulong *q, volatile global float *f) {
    p[1] = atom_add(p, 1) + atom_sub(p, 2) + atom_xchg(p, 3) + atom_inc(p) + atom_dec(p) + atom_cmpxchg(p, 4, 5);
    q[1] = atom_min(q, 6) + atom_max(q, 7) + atom_and(q, 8) + atom_or(q, 9) + atom_xor(q, 10);
    f[1] = atomic_xchg(f, 1.0f);
}
kernel void c11(global atomic_int *a, local atomic_uint *b, global atomic_long *c, global atomic_float *f,
                global atomic_flag *flag, global int *out) {
    atomic_init(a, 3);
    atomic_store(a, 4); atomic_store_explicit(a, 5, memory_order_release, memory_scope_device);
    out[0] = atomic_load(a) + atomic_load_explicit(a, memory_order_acquire, memory_scope_work_group);
    out[1] = atomic_exchange(a, 6) + atomic_fetch_add(a, 7) + atomic_fetch_sub(a, 8) + atomic_fetch_or(a, 9);
    out[2] = atomic_fetch_xor(a, 10) + atomic_fetch_and(a, 11) + atomic_fetch_min(a, 12) + atomic_fetch_max(a, 13);
    out[3] = atomic_fetch_add_explicit(b, 1, memory_order_relaxed, memory_scope_work_group);
    out[4] = atomic_fetch_max(c, 14L);
    int expected = 5;
    out[5] = atomic_compare_exchange_strong(a, &expected, 7);
    out[6] = atomic_compare_exchange_weak_explicit(a, &expected, 8, memory_order_seq_cst, memory_order_relaxed,
                                                   memory_scope_device);
    out[7] = atomic_flag_test_and_set(flag); atomic_flag_clear(flag);
    out[8] = (int)atomic_load(f) + expected;
}
kernel void copies(global float4 *a, local float4 *l, global int *b, local int *m, int n) {
    event_t e[2];
    e[0] = async_work_group_copy(l, a, n, 0);
    e[1] = async_work_group_strided_copy(m, b, n, 3, 0);
    wait_group_events(2, e);
    event_t f = async_work_group_copy(a, l, n, 0);
    f = async_work_group_copy(b, m, n, f);
    wait_group_events(1, &f);
}
#define GROUP(T) \
    kernel void group_##T(global T *a) { \
        T x = a[get_global_id(0)]; \
        T r = work_group_broadcast(x, 0) + work_group_broadcast(x, 1, 2) + work_group_broadcast(x, 1, 2, 3); \
        r += work_group_reduce_add(x) + work_group_reduce_min(x) + work_group_reduce_max(x); \
        r += work_group_scan_exclusive_add(x) + work_group_scan_inclusive_min(x) + work_group_scan_exclusive_max(x); \
        r += sub_group_broadcast(x, 3) + sub_group_reduce_add(x) + sub_group_scan_inclusive_max(x); \
        a[get_global_id(0)] = r; \
    }
GROUP(int) GROUP(uint) GROUP(long) GROUP(ulong) GROUP(float) GROUP(double)
kernel void votes(global int *a) {
    a[0] = work_group_all(a[1] > 3) + work_group_any(a[2]) + sub_group_all(a[3]) + sub_group_any(a[4]);
    a[1] = get_sub_group_size() + get_max_sub_group_size() + get_num_sub_groups() + get_enqueued_num_sub_groups();
    a[2] = get_sub_group_id() + get_sub_group_local_id();
}
