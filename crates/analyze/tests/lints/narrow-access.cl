// on: Mali-T760, Mali-G76, Mali-G78
// not on quick_merged: Mali-T760, Mali-G76, Mali-G78, Adreno 640

kernel void slow(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    global const uchar *from = in + 8 * i;
    const short sum = (short)from[0] + from[1] + from[2] + from[3] + from[4] + from[5] + from[6] + from[7]; // here
    out[i] = (uchar)(sum >> 3);
}

kernel void quick(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    const uchar8 v = vload8(0, in + 8 * i);
    const short sum = (short)v.s0 + v.s1 + v.s2 + v.s3 + v.s4 + v.s5 + v.s6 + v.s7;
    out[i] = (uchar)(sum >> 3);
}

// Compilers merge four elements.
kernel void quick_merged(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    const float a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3];
    out[i] = a + b + c + d;
}

// Neighbours share words: nothing is joined by a wider load.
kernel void quick_strided(global const float *in, global float *out, int pitch)
{
    const int i = get_global_id(0);
    out[i] = in[i] + in[i + pitch];
}
