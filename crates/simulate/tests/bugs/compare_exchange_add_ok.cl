// A float sum by compare-and-exchange, as devices without float atomics do it.
kernel void compare_exchange_add_ok(global const float *in, volatile global uint *sum) {
    float value = in[get_global_id(0)];
    uint before, seen = atomic_or(sum, 0);
    do {
        before = seen;
        seen = atomic_cmpxchg(sum, before, as_uint(as_float(before) + value));
    } while (seen != before);
}
