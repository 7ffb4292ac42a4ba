// on: Mali-T604, Mali-T860
// not on: Mali-G77, Adreno 640, Mali-G52
// outputs: 4
// gain within: 0.06

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
