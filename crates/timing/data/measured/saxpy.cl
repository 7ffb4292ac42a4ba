// y += a * x, N floats a work-item.
kernel void saxpy(float a, global const float *x, global float *y)
{
    const int i = get_global_id(0) * N;
    for (int k = 0; k < N; ++k)
        y[i + k] = a * x[i + k] + y[i + k];
}
