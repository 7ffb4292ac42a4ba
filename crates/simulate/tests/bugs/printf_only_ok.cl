// Printing is an effect.
kernel void printf_only_ok(global const int *in) {
    if (get_global_id(0) == 0) printf("first: %d\n", in[0]);
}
