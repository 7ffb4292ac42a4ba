// (1 << bits) - 1 is no mask for all 32 bits.
kernel void mask_of_all_bits(global const uint *in, global uint *out, uint bits) {
    int i = get_global_id(0);
    out[i] = in[i] & ((1u << bits) - 1); //~ WARNING shift-past-width
}

kernel void mask_of_all_bits_ok(global const uint *in, global uint *out, uint bits) {
    int i = get_global_id(0);
    uint mask = 0xffffffffu;
    if (bits < 32) mask = (1u << bits) - 1;
    out[i] = in[i] & mask;
}
