// on: Mali-G78, Mali-G610, Mali-G76, Adreno 660
// not on: Mali-G71, Mali-T860
// on slow_vector: Mali-G78, Mali-G610, Mali-G76
// gain within: 0.12
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable

kernel void slow(global const char4 *a, global const char4 *b, global int *out, int n)
{
    const int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < n; k++) {
        const char4 x = a[k], y = b[i + 64 * k];
        sum += x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3; // here
    }
    out[i] = sum;
}

kernel void quick(global const char4 *a, global const char4 *b, global int *out, int n)
{
    const int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum = arm_dot_acc(a[k], b[i + 64 * k], sum);
    out[i] = sum;
}

// Unsigned, and as a vector.
kernel void slow_vector(global const uchar4 *a, global const uchar4 *b, global int *out)
{
    const int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < 16; k++) {
        const int4 p = convert_int4(a[i + 64 * k]) * convert_int4(b[i + 64 * k]);
        sum += p.s0 + p.s1 + p.s2 + p.s3; // here
    }
    out[i] = sum;
}

// Three products.
kernel void quick_three(global const char4 *a, global const char4 *b, global int *out)
{
    const int i = get_global_id(0);
    const char4 x = a[i], y = b[i];
    out[i] = x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2;
}

// Products of more than bytes.
kernel void quick_short(global const short4 *a, global const short4 *b, global int *out)
{
    const int i = get_global_id(0);
    const short4 x = a[i], y = b[i];
    out[i] = x.s0 * y.s0 + x.s1 * y.s1 + x.s2 * y.s2 + x.s3 * y.s3;
}
