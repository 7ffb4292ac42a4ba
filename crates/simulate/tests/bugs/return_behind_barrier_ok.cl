// All load, also those without a result; they return when the last barrier is behind them.
kernel void return_behind_barrier_ok(global const int *in, global int *out, local int *tile, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[min(i, n - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= n) return;
    out[i] = tile[l ^ 1];
}
