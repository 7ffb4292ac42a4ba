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
