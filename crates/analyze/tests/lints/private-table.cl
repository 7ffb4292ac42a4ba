// on: Mali-T760, Mali-G52, Mali-G77, Adreno 640

kernel void slow(global const int *in, global float *out)
{
    const int i = get_global_id(0);
    float squares[16];
    for (int k = 0; k < 16; ++k)
        squares[k] = k * k;
    out[i] = squares[in[i] & 15]; // here
}

constant float table[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };

kernel void quick(global const int *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = table[in[i] & 15];
}

// A value that is not constant, at an index that depends on the data.
kernel void slow_values(global const float *in, global const int *order, global float *out)
{
    const int i = get_global_id(0);
    float values[8];
    for (int k = 0; k < 8; ++k)
        values[k] = in[8 * i + k];
    out[i] = values[order[i] & 7]; // here
}

// All indices are known once the loops are unrolled: registers.
kernel void quick_unrolled(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    float values[8];
    for (int k = 0; k < 8; ++k)
        values[k] = in[8 * i + k];
    for (int k = 0; k < 8; ++k)
        out[8 * i + k] = values[7 - k];
}

// Shared by a group: no private array.
kernel void quick_local(global const float *in, global const int *order, global float *out)
{
    local float values[64];
    const int i = get_global_id(0);
    values[get_local_id(0)] = sqrt(in[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = values[order[i] & 63];
}
