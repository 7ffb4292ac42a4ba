// on: Mali-T760, Mali-G77, Adreno 640
// on slow_image: Mali-G52
// on quick_image: Mali-G52
// gain within: 0.08
// (Coordinates take other arithmetic than an address does.)

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

// A matrix product by rows of float4: both operands by one pipe.
kernel void slow(global const float4 *a, global const float4 *b, global float4 *c, int k)
{
    const int column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += a[row * k + p] * b[p * n + column]; // here
    c[row * n + column] = sum;
}

kernel void quick(global const float4 *a, read_only image2d_t b, global float4 *c, int k)
{
    const int column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += a[row * k + p] * read_imagef(b, nearest, (int2)(column, p));
    c[row * n + column] = sum;
}

// Each element is read once: an image would only be made for it.
kernel void quick_once(global const float4 *a, global const float4 *b, global float4 *c)
{
    const int i = get_global_id(0);
    c[i] = a[i] + b[i];
}

// No texels: words of three floats, and of one.
kernel void quick_words(global const float *a, global const float *b, global float *c, int k)
{
    const int column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float sum = 0;
    for (int p = 0; p < k; ++p)
        sum += vload3(row * k + p, a).y * b[p * n + column];
    c[row * n + column] = sum;
}

// The kernel writes what it reads.
kernel void quick_written(global float4 *data, int k)
{
    const int i = get_global_id(0), n = get_global_size(0);
    for (int p = 1; p < k; ++p)
        data[p * n + i] += data[(p - 1) * n + i];
}

// A column of an image: neighbours are far apart by either way.
kernel void quick_columns(read_only image2d_t a, global float4 *c, int k)
{
    const int i = get_global_id(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += read_imagef(a, nearest, (int2)(p, i));
    c[i] = sum;
}

// Between texels an image is needed.
kernel void quick_between(read_only image2d_t a, sampler_t linear, global float4 *c, int k)
{
    const int i = get_global_id(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += read_imagef(a, linear, (float2)(i, p) + 0.3f);
    c[i] = sum;
}

// The reverse: both operands by the texture pipe.
kernel void slow_image(global const float4 *a, read_only image2d_t b, global float4 *c, int k)
{
    const int column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += a[row * k + p] * read_imagef(b, nearest, (int2)(column, p)); // here
    c[row * n + column] = sum;
}

kernel void quick_image(global const float4 *a, global const float4 *b, global float4 *c, int k)
{
    const int column = get_global_id(0), row = get_global_id(1), n = get_global_size(0);
    float4 sum = 0;
    for (int p = 0; p < k; ++p)
        sum += a[row * k + p] * b[p * n + column];
    c[row * n + column] = sum;
}
