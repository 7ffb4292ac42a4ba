// A function returns the address of its own array.
int *both_bad(int value) {
    int both[2];
    both[0] = value;
    both[1] = -value;
    return both;
}

kernel void returned_array(global const int *in, global int *out) {
    int i = get_global_id(0);
    int *both = both_bad(in[i]);
    out[i] = both[i & 1]; //~ ERROR dangling-pointer
}

void both_ok(int value, int both[2]) {
    both[0] = value;
    both[1] = -value;
}

kernel void returned_array_ok(global const int *in, global int *out) {
    int i = get_global_id(0);
    int both[2];
    both_ok(in[i], both);
    out[i] = both[i & 1];
}
