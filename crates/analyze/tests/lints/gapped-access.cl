// on: Mali-G52, Mali-G77, Adreno 640
// not on: Mali-T760

kernel void slow(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0);
    const float4 a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3]; // here
    out[i] = a + b + c + d;
}

kernel void quick(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0), size = get_global_size(0);
    const float4 a = in[i], b = in[i + size], c = in[i + 2 * size], d = in[i + 3 * size];
    out[i] = a + b + c + d;
}

// A load of more than a word is several.
kernel void slow_wide(global const float16 *in, global float16 *out)
{
    const int i = get_global_id(0);
    out[i] = in[i] * 2; // here
}

kernel void quick_wide(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0), size = get_global_size(0);
    for (int k = 0; k < 4; ++k)
        out[i + k * size] = in[i + k * size] * 2;
}

// Half of each line is unused: that is scattered-access.
kernel void quick_unused(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0);
    out[i] = in[4 * i] + in[4 * i + 1];
}

// Words of 4 bytes: that is narrow-access.
kernel void quick_narrow(global const float *in, global float4 *out)
{
    const int i = get_global_id(0);
    global const float *at = in + 8 * i;
    out[i] = (float4)(at[0] + at[1], at[2] + at[3], at[4] + at[5], at[6] + at[7]);
}

// All of them read the same table.
kernel void quick_same(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0);
    out[i] = in[0] + in[1] + in[2] + in[3];
}

// 16 pixels of 3 bytes: nobody can take a third of a pixel.
kernel void quick_pixels(global const uchar16 *in, global uchar16 *out)
{
    const int i = get_global_id(0);
    const uchar16 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    out[i] = max(a, max(b, c));
}

// Arithmetic bounds: nothing would be gained.
kernel void quick_arithmetic(global const float4 *in, global float4 *out, int n)
{
    const int i = get_global_id(0);
    float4 a = in[2 * i], b = in[2 * i + 1];
    for (int k = 0; k < n; ++k)
        a = sin(a + b), b = sin(b - a);
    out[i] = a + b;
}
