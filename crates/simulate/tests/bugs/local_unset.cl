// Local memory starts with whatever the last group left there.
kernel void local_unset(global int *out, local int *tile) {
    out[get_global_id(0)] = tile[get_local_id(0)]; //~ ERROR uninitialised-value
}

kernel void local_unset_ok(global int *out, local int *tile) {
    tile[get_local_id(0)] = 0;
    out[get_global_id(0)] = tile[get_local_id(0)];
}
