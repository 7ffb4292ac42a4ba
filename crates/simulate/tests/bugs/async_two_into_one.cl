// The second copy starts while the first is on its way to the same tile.
kernel void async_two_into_one(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in, 16, 0);
    copied[1] = async_work_group_copy(tile + 8, in + 16, 16, 0); //~ ERROR async-copy-unwaited
    wait_group_events(2, copied);
    out[i] = tile[l];
}

kernel void async_two_into_one_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    event_t copied[2];
    copied[0] = async_work_group_copy(tile, in, 16, 0);
    copied[1] = async_work_group_copy(tile + 16, in + 16, 16, 0);
    wait_group_events(2, copied);
    out[i] = tile[l];
}
