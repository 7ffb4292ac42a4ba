// The host never set the input.
kernel void null_input(global const int *in, global int *out) {
    int i = get_global_id(0);
    out[i] = in[i]; //~ ERROR null-pointer
}
