// C = A B for row-major matrices of n x n floats, n a multiple of four. A work-item has a block of 4 x 4 results.
kernel void product(global const float *a, global const float *b, global float *c, int n) {
    int x = 4 * get_global_id(0), y = 4 * get_global_id(1);
    for (int i = y; i < y + 4; i++) {
        for (int j = x; j < x + 4; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}
