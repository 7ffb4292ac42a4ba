#ifdef FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half t; typedef half4 t4;
#else
typedef float t; typedef float4 t4;
#endif
// A work-item computes one output; U steps unrolled, as the schedule says.
kernel void dense(global const t *restrict x, global const t *restrict w, global t *restrict y)
{
    const int o = get_global_id(0);
    t s = 0;
    for (int k = 0; k < K / U; ++k) {
        #pragma unroll
        for (int u = 0; u < U; ++u) s += x[k * U + u] * w[o * K + k * U + u];
    }
    y[o] = s;
}
#ifndef FP16
// T604: 1 x 4 outputs, 4 steps of k at a time, both matrices with k fastest.
kernel void nt144(global const float *a, global const float *b, global float *c, int n)
{
    const int j = get_global_id(0) * 4, i = get_global_id(1);
    float4 s = 0;
    for (int k = 0; k < n; k += 4) {
        const float4 u = vload4(0, a + i * n + k);
        s += (float4)(dot(u, vload4(0, b + j * n + k)), dot(u, vload4(0, b + (j + 1) * n + k)), dot(u, vload4(0,
            b + (j + 2) * n + k)), dot(u, vload4(0, b + (j + 3) * n + k)));
    }
    vstore4(s, 0, c + i * n + j);
}
#endif
