// An exchange that finds another value than it expects writes nothing: plain reads beside it race with nobody, and
// memory that may only be read is not written.
kernel void exchange_fails_ok(global int *table, global int *out) {
    int i = get_global_id(0), at = i & 15;
    out[i] = table[15 - at] + atomic_cmpxchg(&table[at], -1, i);
}
