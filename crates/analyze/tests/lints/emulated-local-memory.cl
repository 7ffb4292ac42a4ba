// on: Mali-G52, Mali-G77, Mali-T760
// not on: Adreno 640
// gain within: 0.06
// (The branch for the border goes with the copy and is not counted.)

kernel void slow(global const float *in, global float *out)
{
    local float tile[66];
    const int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i]; // here
    if (l < 2)
        tile[64 + l] = in[64 + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l] + tile[l + 1] + tile[l + 2];
}

kernel void quick(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[i] + in[i + 1] + in[i + 2];
}

// The tile of a matrix product.
kernel void slow_product(global const float4 *a, global const float4 *b, global float4 *c, int k)
{
    local float4 a_tile[64], b_tile[64];
    const int i = get_global_id(0), l = get_local_id(0);
    float4 sum = 0;
    for (int p = 0; p < k; p += 64) {
        a_tile[l] = a[p + l]; // here
        b_tile[l] = b[p + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int q = 0; q < 64; ++q)
            sum += a_tile[q] * b_tile[q];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[i] = sum;
}

// Work-items exchange what they have computed.
kernel void quick_reduction(global const float *in, global float *out)
{
    local float sums[64];
    const int l = get_local_id(0);
    sums[l] = in[get_global_id(0)];
    for (int step = 32; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step)
            sums[l] += sums[l + step];
    }
    if (l == 0)
        out[get_group_id(0)] = sums[0];
}

// What is loaded is computed with first: once here, where it is read it would be three times.
kernel void quick_computed(global const float *in, global float *out)
{
    local float tile[66];
    const int i = get_global_id(0), l = get_local_id(0);
    tile[l] = exp(in[i]);
    if (l < 2)
        tile[64 + l] = exp(in[64 + i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l] + tile[l + 1] + tile[l + 2];
}

// In place: without the copy a work-item would read what its neighbour has written.
kernel void quick_in_place(global float *data)
{
    local float tile[64];
    const int i = get_global_id(0), l = get_local_id(0);
    tile[l] = data[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[i] = tile[63 - l];
}

// Rows become columns: without the copy neighbours would read lines of their own.
kernel void quick_transpose(global const float *in, global float *out, int width, int height)
{
    local float tile[16][17];
    const int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(x - lx + ly) * height + y - ly + lx] = tile[lx][ly];
}

// Zeros beyond the border are no exchange either.
kernel void slow_border(global const float *in, global float *out, int width)
{
    local float tile[66];
    const int i = get_global_id(0), l = get_local_id(0);
    tile[l] = i < width ? in[i] : 0; // here
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l] + tile[l ? l - 1 : 0];
}

// The copy only converts.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void slow_converted(global const uchar *in, global int *out)
{
    local int tile[66];
    const int i = get_global_id(0), l = get_local_id(0);
    tile[l] = in[i]; // here
    if (l < 2)
        tile[64 + l] = in[64 + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[l] + tile[l + 2];
}
