// on: Mali-T760, Mali-T860, Mali-G77
// not on: Adreno 640

kernel void slow(global const uchar *in, global uchar *out, float gamma)
{
    const int i = get_global_id(0);
    out[i] = convert_uchar_sat(255 * pow(in[i] / 255.0f, gamma)); // here
}

kernel void quick(global const uchar *in, global uchar *out, global const uchar *table)
{
    const int i = get_global_id(0);
    out[i] = table[in[i]];
}

// Each pixel by its neighbour: 65536 different ones.
kernel void quick_of_two(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = convert_uchar_sat(255 * pow(in[i] / 255.0f, in[i + 1] / 255.0f));
}

// Any float.
kernel void quick_of_floats(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = exp(in[i]) * log(in[i]);
}

// An addition is cheaper than a load.
kernel void quick_sum(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = in[i] + 1;
}
