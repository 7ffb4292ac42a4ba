// Halves from a language without them, and integers whose sign is the reader's business.
kernel void half_as_words_ok(global const half *in, global uint *out) {
    int i = get_global_id(0);
    out[i] = (uint)(vload_half(i, in) * 1e6f);
}
