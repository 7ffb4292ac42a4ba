// All raise the same flag.
kernel void flag_by_all(global int *flag) {
    flag[0] = 42; //~ WARNING same-value-race
}

kernel void flag_by_all_ok(global int *flag) {
    if (get_global_id(0) == 0) flag[0] = 42;
}
