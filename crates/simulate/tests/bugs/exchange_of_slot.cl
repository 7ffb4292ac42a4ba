// Some exchanges find the slot free and take it, while others read it plainly.
kernel void exchange_of_slot(global int *table, global int *out) {
    int i = get_global_id(0), at = i & 15;
    out[i] = atomic_cmpxchg(&table[at], 3, i);
    out[i] += table[15 - at]; //~ ERROR atomic-mixed
}

kernel void exchange_of_slot_ok(global int *table, global int *out) {
    int i = get_global_id(0), at = i & 15;
    out[i] = atomic_cmpxchg(&table[at], 3, i);
    out[i] += atomic_or(&table[15 - at], 0);
}
