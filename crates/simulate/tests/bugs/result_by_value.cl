// A function adds to its own copy of the sum.
void add(int sum, int value) {
    sum += value;
}

kernel void result_by_value(global const int *in) { //~ WARNING kernel-without-effect
    int sum = 0;
    add(sum, in[get_global_id(0)]);
}

void add_to(global int *sum, int value) {
    atomic_add(sum, value);
}

kernel void result_by_value_ok(global const int *in, global int *sum) {
    add_to(sum, in[get_global_id(0)]);
}
