// on: Mali-G52, Mali-G77

kernel void slow(global const float16 *in, global float16 *out, float16 weight)
{
    const int i = get_global_id(0);
    const float16 a = in[6 * i], b = in[6 * i + 1], c = in[6 * i + 2];
    const float16 d = in[6 * i + 3], e = in[6 * i + 4], f = in[6 * i + 5];
    out[6 * i] = a + b * weight; // here
    out[6 * i + 1] = b + c * weight;
    out[6 * i + 2] = c + d * weight;
    out[6 * i + 3] = d + e * weight;
    out[6 * i + 4] = e + f * weight;
    out[6 * i + 5] = f + a * weight;
}

// A quarter of the work a work-item fits.
kernel void quick_narrow(global const float4 *in, global float4 *out, float4 weight)
{
    const int i = get_global_id(0);
    const float4 a = in[6 * i], b = in[6 * i + 1], c = in[6 * i + 2];
    const float4 d = in[6 * i + 3], e = in[6 * i + 4], f = in[6 * i + 5];
    out[6 * i] = a + b * weight;
    out[6 * i + 1] = b + c * weight;
    out[6 * i + 2] = c + d * weight;
    out[6 * i + 3] = d + e * weight;
    out[6 * i + 4] = e + f * weight;
    out[6 * i + 5] = f + a * weight;
}
