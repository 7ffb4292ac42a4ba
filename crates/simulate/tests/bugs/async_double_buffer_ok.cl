// The next block is on its way while this one is used; two copies share an event, and one wait is for both.
kernel void async_double_buffer_ok(
    global const int *a, global const int *b, global int *out, local int *tiles) {
    int i = get_global_id(0), l = get_local_id(0), sum = 0;
    event_t copied = async_work_group_copy(tiles, a, 16, 0);
    copied = async_work_group_copy(tiles + 16, b, 16, copied);
    for (int k = 0; k < 4; k++) {
        local int *now = tiles + 32 * (k & 1), *next = tiles + 32 * (~k & 1);
        wait_group_events(1, &copied);
        if (k < 3) {
            copied = async_work_group_copy(next, a + 16 * (k + 1), 16, 0);
            copied = async_work_group_copy(next + 16, b + 16 * (k + 1), 16, copied);
        }
        sum += now[l] * now[31 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum;
}
