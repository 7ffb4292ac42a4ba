// C = A B for square matrices, by tiles of 16x16 in local memory.
#define TILE 16

kernel void sgemm(int n, global const float *a, global const float *b, global float *c) {
    local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int column = get_local_id(0), row = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        a_tile[row][column] = a[y * n + first + column];
        b_tile[row][column] = b[(first + row) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) sum += a_tile[row][k] * b_tile[k][column];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
