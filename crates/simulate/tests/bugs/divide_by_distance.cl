// Work-item 5 divides by its distance from 5.
kernel void divide_by_distance(global int *out, int centre) {
    int i = get_global_id(0);
    out[i] = 100 / (i - centre); //~ ERROR division-by-zero
}

kernel void divide_by_distance_ok(global int *out, int centre) {
    int i = get_global_id(0);
    out[i] = i == centre ? 0 : 100 / (i - centre);
}
