// C = A * B, row-major, one element of C per work-item
kernel void matmul(global const float *A, global const float *B, global float *C, int M, int N, int K)
{
    const int col = get_global_id(0);
    const int row = get_global_id(1);
    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        acc += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = acc;
}
