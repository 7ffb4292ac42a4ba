__kernel void lookup(__global const uchar *in, __global uchar *out, __constant uchar *table, int n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = table[in[i]];
}
