// Nearest neighbour with steps in 16.16 fixed point: column 2048 times 16.0 is past the greatest int.
kernel void resize_step_overflow(global const uchar *in, global uchar *out, int step) {
    int x = get_global_id(0);
    out[x] = in[x * step >> 16];
    //~^ ERROR address-overflow
    //~^^ ERROR out-of-bounds-read
}

kernel void resize_step_overflow_ok(global const uchar *in, global uchar *out, int step) {
    int x = get_global_id(0);
    out[x] = in[(long)x * step >> 16];
}
