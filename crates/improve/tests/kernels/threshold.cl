__kernel void threshold(__global const uchar *in, __global uchar *out, uchar level, uint n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    out[i] = in[i] > level ? 255 : 0;
}
