// One cell, a writer in each group.
kernel void last_writer_wins(global int *last) {
    if (get_local_id(0) == 15) last[0] = get_global_id(0); //~ ERROR data-race-between-groups
}

kernel void last_writer_wins_ok(global int *last) {
    if (get_global_id(0) == get_global_size(0) - 1) last[0] = get_global_id(0);
}
