// 5, 6 and 5 bits put into an unset word one after the other; the upper half is masked away.
kernel void packed_bits_ok(global const uint *in, global ushort *out) {
    int i = get_global_id(0);
    uint word;
    word = (word & ~0x1fu) | (in[i] & 0x1fu);
    word = (word & ~0x7e0u) | (in[i] << 5 & 0x7e0u);
    word = (word & ~0xf800u) | (in[i] << 11 & 0xf800u);
    out[i] = word & 0xffffu;
}
