// on: Mali-G52, Mali-G77, Adreno 640
// not on: Mali-T760

kernel void slow(global const float *in, global float *out, int width)
{
    const int row = get_global_id(0), column = get_global_id(1);
    out[row * width + column] = in[row * width + column] * 2; // here
}

kernel void quick(global const float *in, global float *out, int width)
{
    const int column = get_global_id(0), row = get_global_id(1);
    out[row * width + column] = in[row * width + column] * 2;
}

// One field of a struct of 64 bytes: a line each.
struct particle {
    float4 position, velocity, force, rest;
};

kernel void slow_field(global const struct particle *in, global float4 *out)
{
    const int i = get_global_id(0);
    out[i] = in[i].velocity; // here
}

kernel void quick_field(global const float4 *velocity, global float4 *out)
{
    const int i = get_global_id(0);
    out[i] = velocity[i];
}

// All read the same: one line.
kernel void quick_same(global const float *in, global float *out, int k)
{
    out[get_global_id(0)] = in[k];
}

// The whole line is used by wide loads: as few lines as the bytes fill.
kernel void quick_wide(global const float4 *in, global float4 *out)
{
    const int i = get_global_id(0);
    out[i] = in[i];
}

// From a table: nobody knows.
kernel void quick_table(global const float *in, global const int *table, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[table[i]];
}

// A work-item uses its whole line: that is gapped-access.
kernel void quick_whole(global const float16 *in, global float16 *out)
{
    const int i = get_global_id(0);
    out[i] = in[i] * 2;
}

// The bytes of a pixel lie 3 apart: neighbours share lines.
kernel void quick_pixels(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[3 * i + 1] = in[3 * i + 1] / 2;
}

// A tile whose columns are neighbours.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void slow_tile(global const int *in, global int *out)
{
    local int t[16][16];
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    t[x][y] = in[i] * 3; // here
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum += t[x][(y + k) & 15] * k; // here
    out[i] = sum;
}

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void quick_rows_of_a_tile(global const int *in, global int *out)
{
    local int t[16][16];
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    t[y][x] = in[i] * 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum += t[(y + k) & 15][x] * k;
    out[i] = sum;
}

// Planes of two arguments: known only if both are.
// launch slow_planes: width=112 height=112
kernel void slow_planes(global const char *in, global char *out, int width, int height)
{
    const int c = get_global_id(0), x = get_global_id(1), y = get_global_id(2);
    out[(c * height + y) * width + x] = in[(c * height + y) * width + x] + 1; // here
}
