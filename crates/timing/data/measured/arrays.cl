// The four kernels of STREAM: one float of each array for a work-item.
kernel void copy(global const float *a, global float *c)
{
    const int i = get_global_id(0);
    c[i] = a[i];
}

kernel void scale(global const float *c, global float *b, float factor)
{
    const int i = get_global_id(0);
    b[i] = factor * c[i];
}

kernel void add(global const float *a, global const float *b, global float *c)
{
    const int i = get_global_id(0);
    c[i] = a[i] + b[i];
}

kernel void triad(global const float *b, global const float *c, global float *a, float factor)
{
    const int i = get_global_id(0);
    a[i] = b[i] + factor * c[i];
}
