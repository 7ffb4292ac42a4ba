// Kernels of the tests of the engine: regular and irregular ones, and ones that use one part of a GPU.

kernel void untiled(global const float *a, global const float *b, global float *c, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

kernel void blocked(global const float *a, global const float *b, global float *c, int n)
{
    const int x = get_global_id(0), y = 4 * get_global_id(1);
    float4 sum = 0;
    for (int k = 0; k < n; k++) {
        const float right = b[k * n + x];
        sum += right * (float4)(a[y * n + k], a[(y + 1) * n + k], a[(y + 2) * n + k], a[(y + 3) * n + k]);
    }
    c[y * n + x] = sum.x;
    c[(y + 1) * n + x] = sum.y;
    c[(y + 2) * n + x] = sum.z;
    c[(y + 3) * n + x] = sum.w;
}

#define TILE 8
kernel void tiled(global const float *a, global const float *b, global float *c, int n)
{
    local float left[TILE][TILE], right[TILE][TILE];
    const int x = get_global_id(0), y = get_global_id(1);
    const int i = get_local_id(0), j = get_local_id(1);
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[j][i] = a[y * n + k + i];
        right[j][i] = b[(k + j) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < TILE; l++)
            sum += left[j][l] * right[l][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

// The sum of each column above the diagonal: later work-items have more to do.
kernel void triangular(global const float *a, global float *out, int n)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k <= x; k++)
        sum += a[k * n + x] * y;
    out[y * n + x] = sum;
}

// Work at the border of an image only.
kernel void border(global float *a, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= 4 && y >= 4 && x < width - 4 && y < height - 4)
        return;
    float sum = 0;
    for (int k = -8; k < 8; k++)
        sum += a[clamp(y + k, 0, height - 1) * width + x] * k;
    a[y * width + x] = sum;
}

kernel void histogram(global const uchar *a, global int *counts)
{
    atomic_inc(counts + a[get_global_id(0)]);
}

// As many loads as the index says, from where it says.
kernel void gather(global const int *index, global const float *from, global float *to)
{
    const int i = get_global_id(0);
    float sum = 0;
    for (int at = index[i], left = at & 15; left >= 0; left--, at = index[at])
        sum += from[at];
    to[i] = sum;
}

kernel void transpose(global const float *from, global float *to, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    to[x * height + y] = from[y * width + x];
}

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void blur(read_only image2d_t from, write_only image2d_t to)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++)
            sum += read_imagef(from, nearest, at + (int2)(x, y));
    write_imagef(to, at, sum / 9);
}

// Loads that wait for each other: `next` is a cycle of cache lines.
kernel void chase(global const int *next, global int *out, int count)
{
    int at = 0;
    for (int i = 0; i < count; i++)
        at = next[at];
    *out = at;
}

// Multiply-adds that wait for each other.
kernel void chain(global float *out, int count)
{
    float x = out[0];
    const float y = out[1];
    for (int i = 0; i < count; i++) {
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
        x = mad(x, y, y);
    }
    out[0] = x;
}

kernel void scaled(global const float *from, global float *to, float factor)
{
    const int i = get_global_id(0);
    to[i] = from[i] * factor;
}

// Odd work-items do more.
kernel void uneven(global float *a, int count)
{
    const int i = get_global_id(0);
    float x = a[i];
    if (i & 1)
        for (int k = 0; k < count; k++)
            x = native_sqrt(x) + 1.5f;
    a[i] = x;
}

// Loads `stride` elements apart.
kernel void strided(global const float *from, global float *to, int stride)
{
    const int i = get_global_id(0);
    to[i] = from[i * stride];
}

kernel void meet(global int *out, int count)
{
    for (int i = 0; i < count; i++)
        barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = count;
}

// All work-items count at the same address.
kernel void contended(global int *counter)
{
    atomic_inc(counter);
}

// Each work-item counts at one of 65536 addresses.
kernel void spread(global int *counters)
{
    atomic_inc(counters + (get_global_id(0) & 65535));
}

// Each work-item reads a row of local memory; rows are up to 33 apart.
kernel void rows_apart(global float *out, int apart)
{
    local float tile[64 * 33];
    const int x = get_local_id(0);
    for (int i = x; i < 64 * 33; i += 64)
        tile[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int i = 0; i < 256; i++)
        sum += tile[x * apart + (i & 31)];
    out[get_global_id(0)] = sum;
}

// Multiply-adds that do not wait for each other.
kernel void busy(global float *out, int count)
{
    const int at = get_global_id(0);
    const float y = out[at];
    float a = y, b = y + 1, c = y + 2, d = y + 3;
    for (int i = 0; i < count; i++) {
        a = mad(a, y, y), b = mad(b, y, y), c = mad(c, y, y), d = mad(d, y, y);
        a = mad(a, y, y), b = mad(b, y, y), c = mad(c, y, y), d = mad(d, y, y);
        a = mad(a, y, y), b = mad(b, y, y), c = mad(c, y, y), d = mad(d, y, y);
        a = mad(a, y, y), b = mad(b, y, y), c = mad(c, y, y), d = mad(d, y, y);
    }
    out[at] = a + b + c + d;
}

#define CAT(a, b) a##b
#define SAXPY(width) \
    kernel void CAT(saxpy, width)(global const CAT(float, width) *x, global CAT(float, width) *y, float a) \
    { \
        const int i = get_global_id(0); \
        y[i] = mad(x[i], (CAT(float, width))(a), y[i]); \
    }
SAXPY(2)
SAXPY(4)
SAXPY(8)

/// A convolution of 7x7 by work-groups of 16: ten rows are staged, then each work-item sums for eight pixels. n is a multiple of 32.
kernel void staged(global const float *pixels, global float *result, const int n)
{
    local float rows[10][38];
    const int x = get_local_id(0), left = 32 * get_group_id(0), top = 4 * get_group_id(1);
    for (int v = 0; v < 10; ++v)
        for (int u = x; u < 38; u += 16)
            rows[v][u] = pixels[(top + v) * (n + 6) + left + u];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sums[4][2] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    for (int j = 0; j < 7; ++j)
        for (int i = 0; i < 7; ++i)
            for (int v = 0; v < 4; ++v)
                for (int u = 0; u < 2; ++u)
                    sums[v][u] += 0.02f * rows[v + j][x + 16 * u + i];
    for (int v = 0; v < 4; ++v)
        for (int u = 0; u < 2; ++u)
            result[(top + v) * n + left + x + 16 * u] = sums[v][u];
}

// Sums of n vectors, all work-items' side by side: n is a multiple of 4.
kernel void stream(global const float4 *in, global float *out, int n)
{
    const uint all = get_global_size(0);
    uint at = get_global_id(0);
    float4 sum = 0;
    for (int i = 0; i < n; i += 4) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            sum += in[at];
            at += all;
        }
    }
    out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}
