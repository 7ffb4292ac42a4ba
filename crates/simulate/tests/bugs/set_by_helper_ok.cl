// Variables set through pointers, by a function and by a builtin with a second result.
void min_max(int a, int b, int *least, int *greatest) {
    *least = min(a, b);
    *greatest = max(a, b);
}

kernel void set_by_helper_ok(global const int *in, global int *spread, global float *fraction) {
    int i = get_global_id(0);
    int least, greatest;
    min_max(in[i], 32, &least, &greatest);
    spread[i] = greatest - least;
    float whole;
    float part = modf(0.3f * in[i], &whole);
    fraction[i] = part + 0.5f * whole;
}
