// Odd work-items read an element that nobody has written, and choose another value instead.
kernel void unset_not_chosen_ok(global long* out, int odd) {
    long table[2];
    table[0] = 7;
    size_t i = get_global_id(0);
    long value = table[i & odd];
    bool even = (i & odd) == 0;
    long chosen = even ? value : 0;
    long id = (long)get_local_id(0);
    out[i] = chosen + id;
}
