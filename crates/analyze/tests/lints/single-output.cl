// on: Mali-T604, Mali-T860
// not on slow: Mali-G77, Adreno 640, Mali-G52
// not on slow_rows: Mali-G77, Adreno 640, Mali-G52
// on slow_edge: Mali-G71, Mali-G52, Mali-G78, Adreno 650, Adreno 830
// on quick_edge: Mali-G71, Mali-G52, Mali-G78, Adreno 650, Adreno 830
// outputs: 4
// gain within: 0.06
// gain within slow_edge: 0.27

kernel void slow(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    const float a = in[i], b = in[i + 1], c = in[i + 2];
    out[i] = (a * b + c) * (b * c + a) - (a + b + c) * (a - b); // here
}

kernel void quick(global const float *in, global float *out)
{
    const int i = 4 * get_global_id(0);
    const float4 a = vload4(0, in + i), b = vload4(0, in + i + 1), c = vload4(0, in + i + 2);
    vstore4((a * b + c) * (b * c + a) - (a + b + c) * (a - b), 0, out + i);
}

// Rows along dimension 1: the outputs of neighbours in dimension 0 are far apart.
kernel void slow_rows(global const float *in, global float *out, int width)
{
    const int i = (int)get_global_id(0) * width + (int)get_global_id(1);
    const float a = in[i], b = in[i + 1];
    out[i] = (a * b + a) * (a - b); // here
}

// Outputs that are far apart in every dimension.
kernel void quick_scattered(global const float *in, global float *out, int pitch)
{
    const int i = get_global_id(0) * pitch;
    const float a = in[i], b = in[i + 1];
    out[i] = (a * b + a) * (a - b);
}

// Work-items that depend on each other.
kernel void quick_group(global const float *in, global float *out, local float *shared)
{
    const int i = get_global_id(0), at = get_local_id(0);
    shared[at] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    const float a = shared[at ^ 1];
    out[i] = a * a + a;
}

// One byte a work-item, on GPUs with warps.
kernel void slow_edge(global const uchar *in, global uchar *out, int width)
{
    const int i = (int)get_global_id(0) + width * (int)get_global_id(1);
    const int s = 4 * in[i + width + 1] - in[i + 1] - in[i + width] - in[i + width + 2] - in[i + 2 * width + 1];
    out[i] = (uchar)clamp(s, 0, 255); // here
}

kernel void quick_edge(global const uchar *in, global uchar *out, int width)
{
    const int i = 4 * (int)get_global_id(0) + width * (int)get_global_id(1);
    const short4 s = (short)4 * convert_short4(vload4(0, in + i + width + 1)) - convert_short4(vload4(0, in + i + 1))
        - convert_short4(vload4(0, in + i + width)) - convert_short4(vload4(0, in + i + width + 2))
        - convert_short4(vload4(0, in + i + 2 * width + 1));
    vstore4(convert_uchar4(clamp(s, (short)0, (short)255)), 0, out + i);
}
