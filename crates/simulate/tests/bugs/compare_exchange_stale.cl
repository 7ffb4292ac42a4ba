// A plain read of another place than the one exchanged: that it has not changed since, nothing says.
kernel void compare_exchange_stale(volatile global uint *top, volatile global uint *size) {
    uint before, seen = *size; //~ ERROR atomic-mixed
    do {
        before = seen;
        seen = atomic_cmpxchg(top, before, before + 1);
    } while (seen != before);
    atomic_inc(size);
}

kernel void compare_exchange_stale_ok(volatile global uint *top, volatile global uint *size) {
    uint before, seen = *top;
    do {
        before = seen;
        seen = atomic_cmpxchg(top, before, before + 1);
    } while (seen != before);
    atomic_inc(size);
}
