// One work-item starts the copy for all: the others never come.
void fetch(local int *tile, global const int *in) {
    event_t copied = async_work_group_copy(tile, in, 16, 0); wait_group_events(1, &copied);
    //~^ ERROR async-copy-divergence
}

kernel void async_by_leader(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    if (l == 0) fetch(tile, in + i - l);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l];
}

kernel void async_by_leader_ok(global const int *in, global int *out, local int *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    fetch(tile, in + i - l);
    out[i] = tile[l];
}
