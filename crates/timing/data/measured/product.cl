// C = A * B of n x n floats, B transposed: tiles of TILE x TILE, STEP steps of k at a time.
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
typedef JOIN(float, STEP) vector_t;
#define LOAD(p) JOIN(vload, STEP)(0, p)

kernel void product(global const float *restrict a, global const float *restrict b, global float *restrict c, int n)
{
    const int i = get_global_id(0) * TILE, j = get_global_id(1) * TILE;
#if TILE == 1
    vector_t sum = 0;
    for (int k = 0; k < n; k += STEP)
        sum += LOAD(a + i * n + k) * LOAD(b + j * n + k);
#if STEP == 8
    c[i * n + j] = sum.s0 + sum.s1 + sum.s2 + sum.s3 + sum.s4 + sum.s5 + sum.s6 + sum.s7;
#else
    c[i * n + j] = sum.s0 + sum.s1 + sum.s2 + sum.s3 + sum.s4 + sum.s5 + sum.s6 + sum.s7 + sum.s8 + sum.s9 + sum.sa +
                   sum.sb + sum.sc + sum.sd + sum.se + sum.sf;
#endif
#elif TILE == 2
    float4 sum = 0;
    for (int k = 0; k < n; k += 4) {
        const float4 a0 = LOAD(a + i * n + k), a1 = LOAD(a + (i + 1) * n + k);
        const float4 b0 = LOAD(b + j * n + k), b1 = LOAD(b + (j + 1) * n + k);
        sum += (float4)(dot(a0, b0), dot(a0, b1), dot(a1, b0), dot(a1, b1));
    }
    vstore2(sum.lo, 0, c + i * n + j);
    vstore2(sum.hi, 0, c + (i + 1) * n + j);
#else
    float4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (int k = 0; k < n; k += 4) {
        const float4 a0 = LOAD(a + i * n + k), a1 = LOAD(a + (i + 1) * n + k);
        const float4 a2 = LOAD(a + (i + 2) * n + k), a3 = LOAD(a + (i + 3) * n + k);
        const float4 b0 = LOAD(b + j * n + k), b1 = LOAD(b + (j + 1) * n + k);
        const float4 b2 = LOAD(b + (j + 2) * n + k), b3 = LOAD(b + (j + 3) * n + k);
        sum0 += (float4)(dot(a0, b0), dot(a0, b1), dot(a0, b2), dot(a0, b3));
        sum1 += (float4)(dot(a1, b0), dot(a1, b1), dot(a1, b2), dot(a1, b3));
        sum2 += (float4)(dot(a2, b0), dot(a2, b1), dot(a2, b2), dot(a2, b3));
        sum3 += (float4)(dot(a3, b0), dot(a3, b1), dot(a3, b2), dot(a3, b3));
    }
    vstore4(sum0, 0, c + i * n + j);
    vstore4(sum1, 0, c + (i + 1) * n + j);
    vstore4(sum2, 0, c + (i + 2) * n + j);
    vstore4(sum3, 0, c + (i + 3) * n + j);
#endif
}
