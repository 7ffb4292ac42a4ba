// on: Mali-T760, Mali-G52, Adreno 640

// `scale` might lie in `out`.
kernel void slow(global const float *in, global float *out, global const float *scale, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k)
        out[k * size + i] = in[k * size + i] * scale[0]; // here
}

kernel void quick(global const float *in, global float *out, global const float *scale, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    const float factor = scale[0];
    for (int k = 0; k < n; ++k)
        out[k * size + i] = in[k * size + i] * factor;
}

// A sum in memory.
kernel void slow_sum(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k)
        out[i] += in[k * size + i]; // here
}

kernel void quick_sum(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    float sum = out[i];
    for (int k = 0; k < n; ++k)
        sum += in[k * size + i];
    out[i] = sum;
}

// The compiler knows that they are apart.
kernel void quick_restrict(global const float *restrict in, global float *restrict out,
                           global const float *restrict scale, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k)
        out[k * size + i] = in[k * size + i] * scale[0];
}

// The kernel itself changes what it loads.
kernel void quick_same(global float *data, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k)
        data[k * size + i] = data[0] + data[k * size + i];
}

// Others change it between the rounds.
kernel void quick_barrier(global float *out, global const float *flag, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k) {
        out[k * size + i] = flag[0];
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

// Only in some rounds.
kernel void quick_sometimes(global const float *in, global float *out, global const float *scale, int n)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < n; ++k)
        if (in[k * size + i] > 0)
            out[k * size + i] = scale[0];
}
