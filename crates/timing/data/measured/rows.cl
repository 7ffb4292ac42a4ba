// A dense layer of one input: a work-item has a row of K weights, U steps unrolled.
kernel void rows(global const float *restrict input, global const float *restrict weights, global float *restrict output)
{
    const int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < K; k += U) {
        #pragma unroll
        for (int u = 0; u < U; ++u)
            sum += input[k + u] * weights[row * K + k + u];
    }
    output[row] = sum;
}
