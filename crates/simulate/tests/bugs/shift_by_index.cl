// A bit for each work-item, of which there are 64, in a word of 32.
kernel void shift_by_index(global int *out, int first) {
    int i = get_global_id(0);
    out[i] = 1 << (first + i); //~ WARNING shift-past-width
}

kernel void shift_by_index_ok(global int *out, int first) {
    int i = get_global_id(0);
    out[i] = 1 << ((first + i) & 31);
}
