// on: Mali-G52, Mali-G77
// on slow: Mali-G52, Mali-G77, Adreno 640
// on slow_zeros: Mali-T760, Mali-G52, Mali-G77
// gain within: 0.07
// (Without the tests the addresses have parts in common as well.)

// Rows of floats, nine of them, with coordinates that stay inside.
kernel void slow(global const float *in, global float *out, int width, int height, int pitch)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += in[clamp(y + dy, 0, height - 1) * pitch + clamp(x + dx, 0, width - 1)]; // here
    out[y * pitch + x] = sum;
}

kernel void quick(global const float *in, global float *out, int width, int height, int pitch)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += in[(y + dy) * pitch + x + dx];
    out[y * pitch + x] = sum;
}

// Zeros beyond the border.
kernel void slow_zeros(global const float *in, global float *out, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height) // here
                sum += native_sqrt(in[(y + dy) * width + x + dx]);
    out[y * width + x] = sum;
}

// Surplus work-items go home.
kernel void quick_guard(global const float *in, global float *out, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += in[(y + dy) * width + x + dx];
    out[y * width + x] = sum;
}

// Who stays has the rest of the kernel to himself.
kernel void quick_inside(global const float *in, global float *out, int width, int height)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        out[y * width + x] = in[y * width + x - 1] + in[y * width + x + 1];
}

// Colours are clamped, not places.
kernel void quick_colours(global const uchar *in, global uchar *out, int width)
{
    const int i = get_global_id(0);
    out[3 * i] = clamp(2 * in[3 * i] - in[3 * i + width], 0, 255);
    out[3 * i + 1] = clamp(2 * in[3 * i + 1] - in[3 * i + 1 + width], 0, 255);
    out[3 * i + 2] = clamp(2 * in[3 * i + 2] - in[3 * i + 2 + width], 0, 255);
}

// A table's index is kept inside: no coordinate.
kernel void quick_table(global const int *in, global const float *table, global float *out, int size)
{
    const int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < 4; ++k)
        sum += table[clamp(in[4 * i + k], 0, size - 1)];
    out[i] = sum;
}
