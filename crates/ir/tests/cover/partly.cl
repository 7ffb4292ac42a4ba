// Arrays whose initial contents are constant in part: the constant part is copied first.
kernel void partly(global float *out, float x, int i) {
    float grid[2][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {x, 2, 3, 4, 5, 6, 7, x}};
    struct { float weights[8]; private float *p; } s = {{8, 7, 6, 5, 4, 3, 2, 1}, &x};
    out[0] = grid[i & 1][i >> 1] + s.weights[i] + *s.p;
}
