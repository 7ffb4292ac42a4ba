// A tiled product that loads the next tiles while others still multiply the last ones.
#define TILE 8

kernel void gemm_second_barrier(global const float *a, global const float *b, global float *c, int n) {
    local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        a_tile[ly][lx] = a[y * n + t + lx]; //~ ERROR data-race
        b_tile[ly][lx] = b[(t + ly) * n + x]; //~ ERROR data-race
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += a_tile[ly][k] * b_tile[k][lx];
    }
    c[y * n + x] = sum;
}

kernel void gemm_second_barrier_ok(global const float *a, global const float *b, global float *c, int n) {
    local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    float sum = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        a_tile[ly][lx] = a[y * n + t + lx];
        b_tile[ly][lx] = b[(t + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += a_tile[ly][k] * b_tile[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
