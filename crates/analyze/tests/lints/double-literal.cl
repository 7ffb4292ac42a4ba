// on: Mali-T860, Mali-T604
// gain within: 0.05
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void slow(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 20; k++)
        x = x * 1.1 + 0.3; // here
    out[i] = x;
}

kernel void quick(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 20; k++)
        x = x * 1.1f + 0.3f;
    out[i] = x;
}

// Doubles that are stored.
kernel void quick_stored(global const float *in, global double *out)
{
    const int i = get_global_id(0);
    const double x = in[i] * 1.1 + 0.3;
    out[i] = x * x * x * x;
}

// A value that is converted once and used twice.
kernel void slow_shared(global const float *in, global float *out)
{
    float x = in[get_global_id(0)];
    for (int k = 0; k < 20; k++)
        x = 0.3 * x * (1.1 - x * x); // here
    out[get_global_id(0)] = x;
}

kernel void quick_shared(global const float *in, global float *out)
{
    float x = in[get_global_id(0)];
    for (int k = 0; k < 20; k++)
        x = 0.3f * x * (1.1f - x * x);
    out[get_global_id(0)] = x;
}

// Comparisons with a constant that is no float.
kernel void slow_compared(global const float *in, global float *out)
{
    int count = 0;
    for (int k = 0; k < 20; k++)
        count += in[get_global_id(0)] * k > 0.1; // here
    out[get_global_id(0)] = count;
}

kernel void quick_compared(global const float *in, global float *out)
{
    int count = 0;
    for (int k = 0; k < 20; k++)
        count += in[get_global_id(0)] * k > 0.1f;
    out[get_global_id(0)] = count;
}

// Numbers that the author wants as doubles.
kernel void quick_double(global const double *in, global float *out)
{
    double x = in[get_global_id(0)];
    for (int k = 0; k < 20; k++)
        x = x * 1.1 + 0.3;
    out[get_global_id(0)] = x;
}

// Integers at both ends.
kernel void slow_pixels(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = 60.0 * (in[i] / 255.0 + 1.5) / 2.0; // here
}

kernel void quick_pixels(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = 60.0f * (in[i] / 255.0f + 1.5f) / 2.0f;
}
