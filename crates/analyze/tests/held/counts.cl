// Kernels whose words, instructions and messages are counted by hand in counts.rs.

// Four rows of A by four columns of B, four steps of the sum an iteration.
kernel void product_4x4(global const float4 *a, global const float4 *b, global float4 *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float4 sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < k / 4; ++i) {
        float4 left[4], right[4];
        for (int r = 0; r < 4; ++r) {
            left[r] = a[(4 * y + r) * (k / 4) + i];
            right[r] = b[(4 * i + r) * (n / 4) + x];
        }
        for (int r = 0; r < 4; ++r) {
            sum[r] += left[r].x * right[0];
            sum[r] += left[r].y * right[1];
            sum[r] += left[r].z * right[2];
            sum[r] += left[r].w * right[3];
        }
    }
    for (int r = 0; r < 4; ++r)
        c[(4 * y + r) * (n / 4) + x] = sum[r];
}

// A tile of A and a tile of B in local memory.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void product_tiled(global const float *a, global const float *b, global float *c, int n, int k)
{
    local float left[16][16], right[16][16];
    const int i = get_local_id(0), j = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int at = 0; at < k; at += 16) {
        left[j][i] = a[y * k + at + i];
        right[j][i] = b[(at + j) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 0; step < 16; ++step)
            sum += left[j][step] * right[step][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

// The same value of 64 bits, cut to an int, and computed in int.
kernel void index_of_64_bits(global const float *in, global float *out, int width)
{
    const int at = (get_global_id(1) + 1) * width * 3 + get_global_id(0) * 15;
    out[at] = in[at];
}

kernel void index_of_32_bits(global const float *in, global float *out, int width)
{
    const int at = ((int)get_global_id(1) + 1) * width * 3 + (int)get_global_id(0) * 15;
    out[at] = in[at];
}

// Four neighbours of memory that is known to be aligned, of memory that is not, and around a store.
kernel void neighbours_aligned(global const float4 *in, global float *out)
{
    const int i = get_global_id(0);
    global const float *of = (global const float *)(in + i);
    out[i] = of[0] * of[1] + of[2] * of[3];
}

kernel void neighbours_unaligned(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[4 * i] * in[4 * i + 1] + in[4 * i + 2] * in[4 * i + 3];
}

kernel void neighbours_around_a_store(global float4 *in, global float *out)
{
    const int i = get_global_id(0);
    global float *of = (global float *)(in + i);
    const float first = of[0] * of[1];
    out[i] = first;
    out[i + 1] = first + of[2] * of[3];
}

kernel void power(global float *values)
{
    const int i = get_global_id(0);
    values[i] = pow(values[i], values[i + 1]);
}

kernel void sine(global float *values)
{
    const int i = get_global_id(0);
    values[i] = sin(values[i]);
}

kernel void copy(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[i];
}
