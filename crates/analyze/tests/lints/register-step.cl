// on: Mali-G52, Adreno 640
// not on: Mali-G77

kernel void slow(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    float16 a = 0, b = 1;
    for (int k = 0; k < n; ++k) {
        const float x = in[n * k + i]; // here
        a = mad(a, x, b);
        b = mad(b, x, a);
    }
    vstore16(a + b, i, out);
}

kernel void quick(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    float8 a = 0, b = 1;
    for (int k = 0; k < n; ++k) {
        const float x = in[n * k + i];
        a = mad(a, x, b);
        b = mad(b, x, a);
    }
    vstore8(a + b, i, out);
}
