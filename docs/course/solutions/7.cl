// A block of 4 x 4 results in registers: eight loads of four numbers for 64 multiply-adds.
kernel void product(global const float *a, global const float *b, global float *c, int n) {
    int x = get_global_id(0), y = 4 * get_global_id(1);
    float4 sum[4] = {0, 0, 0, 0};
    for (int k = 0; k < n; k += 4) {
        float4 rows[4];
        for (int j = 0; j < 4; j++) rows[j] = vload4(x, b + (k + j) * n);
        for (int i = 0; i < 4; i++) {
            float4 left = vload4(0, a + (y + i) * n + k);
            sum[i] += left.x * rows[0] + left.y * rows[1] + left.z * rows[2] + left.w * rows[3];
        }
    }
    for (int i = 0; i < 4; i++) vstore4(sum[i], x, c + (y + i) * n);
}
