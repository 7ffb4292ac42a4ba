// on: Mali-G52, Mali-G77, Adreno 640
// not on: Mali-T760

kernel void slow(global float *data, int n)
{
    const int i = get_global_id(0);
    float x = data[i];
    if (i & 1) { // here
        for (int k = 0; k < n; ++k)
            x = native_sin(x);
    } else {
        for (int k = 0; k < n; ++k)
            x = native_sqrt(x);
    }
    data[i] = x;
}

// Whole groups decide alike.
kernel void quick(global float *data, int n)
{
    const int i = get_global_id(0);
    float x = data[i];
    if (get_group_id(0) & 1) {
        for (int k = 0; k < n; ++k)
            x = native_sin(x);
    } else {
        for (int k = 0; k < n; ++k)
            x = native_sqrt(x);
    }
    data[i] = x;
}

// The warp waits for its longest loop.
kernel void slow_loop(global float *data, global const int *rounds)
{
    const int i = get_global_id(0);
    float x = data[i];
    for (int k = 0; k < rounds[i]; ++k) // here
        x = native_sin(x);
    data[i] = x;
}

kernel void quick_loop(global float *data, constant int *rounds)
{
    const int i = get_global_id(0);
    float x = data[i];
    for (int k = 0; k < rounds[0]; ++k)
        x = native_sin(x);
    data[i] = x;
}

// Surplus work-items leave.
kernel void quick_border(global float *data, int n, int width)
{
    const int i = get_global_id(0);
    if (i >= width)
        return;
    float x = data[i];
    for (int k = 0; k < n; ++k)
        x = native_sin(x);
    data[i] = x;
}

// One way has nothing to do: nobody waits for a second one.
kernel void quick_one_way(global float *data, int n, int width)
{
    const int i = get_global_id(0);
    float x = data[i];
    if (i < width)
        for (int k = 0; k < n; ++k)
            x = native_sin(x);
    data[i] = x + 1;
}

// A few operations are selected, not branched to.
kernel void quick_select(global float *data)
{
    const int i = get_global_id(0);
    data[i] = i & 1 ? data[i] * 2 : data[i] + 1;
}

// The last work-item has a tail: few warps do both.
kernel void quick_tail(global float *data, int n)
{
    const int i = 16 * get_global_id(0);
    if (i + 16 <= n)
        vstore16(native_sin(vload16(0, data + i)), 0, data + i);
    else
        for (int k = i; k < n; ++k)
            data[k] = native_sin(data[k]);
}

// A group takes a multiple of its size, each work-item every 64th.
kernel void quick_share(global float *data, local float *sums)
{
    for (int k = get_local_id(0); k < 256; k += 64)
        sums[k] = native_sin(data[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = sums[63 - get_local_id(0)];
}

// From one place to another that lies as far away for all.
kernel void quick_window(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    float sum = 0;
    for (int k = i; k < i + n; ++k)
        sum += native_sin(in[k]);
    out[i] = sum;
}

// A group strides over a tile: at most its last iteration is not full.
kernel __attribute__((reqd_work_group_size(16, 1, 1))) void quick_tile(global const float *in, global float *out, local float *tile)
{
    for (int k = get_local_id(0); k < 22; k += 16)
        tile[k] = native_sin(in[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[get_local_id(0) + 6];
}

kernel void quick_any_tile(global const float *in, global float *out, local float *tile, int n)
{
    for (int k = get_local_id(0); k < n; k += get_local_size(0))
        tile[k] = native_sin(in[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[n - get_local_id(0) - 1];
}

kernel void quick_grid(global const float *in, global float *out, int n)
{
    for (int k = get_global_id(0); k < n; k += get_global_size(0))
        out[k] = native_sin(in[k]);
}
