// A buffer that nobody wrote decides a branch.
kernel void global_unset_branch(global const int *in, global int *out) {
    int i = get_global_id(0);
    if (in[i] > 3) { //~ ERROR uninitialised-value
        out[i] = 1;
    } else {
        out[i] = 0;
    }
}
