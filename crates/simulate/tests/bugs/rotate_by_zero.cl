// A rotation put together from two shifts, for a rotation by 0.
kernel void rotate_by_zero(global const uint *in, global uint *out, uint by) {
    int i = get_global_id(0);
    uint high = in[i] << by;
    uint low = in[i] >> (32 - by); //~ WARNING shift-past-width
    out[i] = high | low;
}

kernel void rotate_by_zero_ok(global const uint *in, global uint *out, uint by) {
    int i = get_global_id(0);
    uint high = in[i] << by;
    uint low = in[i] >> ((32 - by) & 31);
    out[i] = (high | low) + rotate(in[i], by);
}
