// The width comes by -D as well, and that one is used.
kernel void width_by_macro(global const float *in, global float *out, int width) { //~ NOTE unused-argument
    int at = get_global_id(1) * WIDTH + get_global_id(0);
    out[at] = 1.0f - in[at];
}

kernel void width_by_macro_ok(global const float *in, global float *out, int width) {
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = 1.0f - in[at];
}
