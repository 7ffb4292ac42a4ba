// on: Mali-T760, Mali-G52, Mali-G77, Mali-G715, Adreno 640

// Work for the units that the hardware's functions leave free.
static float polynomial(float x)
{
    float sum = x;
    for (int i = 0; i < 16; ++i)
        sum = sum * x + 0.5f;
    return sum;
}

kernel void slow(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = y / polynomial(x); // here
    data[get_global_id(0)] = x;
}

kernel void quick(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = native_divide(y, polynomial(x));
    data[get_global_id(0)] = x;
}

kernel void slow_wave(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = sin(x); // here
    data[get_global_id(0)] = x;
}

kernel void quick_wave(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = native_sin(x);
    data[get_global_id(0)] = x;
}

kernel void slow_power(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = pow(polynomial(x), y); // here
    data[get_global_id(0)] = x;
}

kernel void quick_power(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = native_powr(polynomial(x), y);
    data[get_global_id(0)] = x;
}

kernel void slow_reciprocal(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = 1.0f / polynomial(x); // here
    data[get_global_id(0)] = x;
}

kernel void quick_reciprocal(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = native_recip(polynomial(x));
    data[get_global_id(0)] = x;
}

kernel void slow_constant(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = fabs(x - 3.0f) / 255.0f; // here
    data[get_global_id(0)] = x;
}

kernel void quick_constant(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = fabs(x - 3.0f) * (1.0f / 255.0f);
    data[get_global_id(0)] = x;
}

// The hardware's square root is the precise one.
kernel void quick_root(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = sqrt(x) + rsqrt(x);
    data[get_global_id(0)] = x;
}

// A power of two takes the place of a division without an error: the compiler sees to it.
kernel void quick_half(global float *data, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = fabs(x - 3.0f) / 256.0f;
    data[get_global_id(0)] = x;
}

// Computed once for all work-items.
kernel void quick_uniform(global float *data, float a, float b, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = mad(x, sin(a) / b, 1.0f);
    data[get_global_id(0)] = x;
}

// Once, beside a loop of loads.
kernel void quick_rare(global const float *in, global float *out, int width, int n)
{
    const int at = get_global_id(0);
    float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += in[at * 37 + i * width];
    out[at] = sum / at;
}

// One of the calls of a line is the same for the whole launch.
kernel void slow_with_uniform(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = exp(-y) * exp(x); // here
    data[get_global_id(0)] = x;
}

kernel void quick_with_uniform(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = exp(-y) * native_exp(x);
    data[get_global_id(0)] = x;
}
