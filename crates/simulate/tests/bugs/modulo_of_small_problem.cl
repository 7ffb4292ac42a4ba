// n / 128 columns: none for a small problem.
kernel void modulo_of_small_problem(global const int *in, global int *out, int n) {
    int i = get_global_id(0), columns = n / 128;
    out[i] = in[i % columns]; //~ ERROR division-by-zero
}

kernel void modulo_of_small_problem_ok(global const int *in, global int *out, int n) {
    int i = get_global_id(0), columns = max(n / 128, 1);
    out[i] = in[i % columns];
}
