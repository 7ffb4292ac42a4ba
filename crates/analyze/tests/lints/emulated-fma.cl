// on: Mali-T830, Adreno 650
// not on: Mali-G77, Mali-G72

kernel void slow(float4 a, float4 b, int n, global float4 *out)
{
    float4 sum = out[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        sum = fma(sum, a, b); // here
    out[get_global_id(0)] = sum;
}

kernel void quick(float4 a, float4 b, int n, global float4 *out)
{
    float4 sum = out[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        sum = mad(sum, a, b);
    out[get_global_id(0)] = sum;
}

// All calls of a line count.
kernel void slow_line(float4 a, float4 b, int n, global float4 *out)
{
    float4 sum = out[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        sum = fma(fma(fma(sum, a, b), a, b), a, b); // here
    out[get_global_id(0)] = sum;
}
