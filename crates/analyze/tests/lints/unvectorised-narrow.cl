// on: Mali-T760, Mali-G52, Mali-G77, Mali-G715
// not on: Adreno 640, Adreno 740
// gain within: 0.1

// The remaining work (loads, the loop) is shared among more elements as well, which is not promised.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void slow(global half *data, half gain, half offset, int rounds)
{
    const int i = get_global_id(0);
    const half8 v = vload8(i, data);
    half x[8] = { v.s0, v.s1, v.s2, v.s3, v.s4, v.s5, v.s6, v.s7 };
    for (int round = 0; round < rounds; ++round)
        for (int k = 0; k < 8; ++k)
            x[k] = mad(mad(mad(mad(x[k], gain, offset), x[k], gain), x[k], offset), x[k], gain); // here
    vstore8((half8)(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]), i, data);
}

kernel void quick(global half *data, half gain, half offset, int rounds)
{
    const int i = get_global_id(0);
    half8 x = vload8(i, data);
    for (int round = 0; round < rounds; ++round)
        x = mad(mad(mad(mad(x, gain, offset), x, gain), x, offset), x, gain);
    vstore8(x, i, data);
}

// Floats fill a register of their own on Bifrost and later.
kernel void quick_floats(global const float4 *in, global float4 *out, float gain, int rounds)
{
    const int i = get_global_id(0);
    float4 x = in[i];
    for (int round = 0; round < rounds; ++round)
        x = mad(x, gain, 1.0f);
    out[i] = x;
}

// Loads and stores of bytes, and nothing computed on them.
kernel void quick_copy(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = in[i];
}

// Counters and indices are as wide as they must be.
kernel void quick_index(global const int *in, global int *out, int n)
{
    const int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < n; ++k)
        sum += in[i + k * n] & k;
    out[i] = sum;
}
