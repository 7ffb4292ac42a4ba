// on: Mali-T760, Mali-G76, Adreno 640

kernel void slow(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    const float a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3]; // here
    out[i] = a + b + c + d;
}

kernel void quick(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    const float4 v = vload4(i, in);
    out[i] = v.x + v.y + v.z + v.w;
}

// Neighbours share words: nothing is joined by a wider load.
kernel void quick_strided(global const float *in, global float *out, int pitch)
{
    const int i = get_global_id(0);
    out[i] = in[i] + in[i + pitch];
}
