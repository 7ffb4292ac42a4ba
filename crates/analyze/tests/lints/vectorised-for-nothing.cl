// on: Mali-G52, Mali-G77, Mali-G715, Adreno 640
// not on: Mali-T760

static float sum_of(float8 v)
{
    const float4 half_way = v.lo + v.hi;
    return half_way.x + half_way.y + half_way.z + half_way.w;
}

kernel void slow(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    const float x = in[i];
    const float8 lanes = (float8)(0, 1, 2, 3, 4, 5, 6, 7);
    float8 a = lanes * x, b = lanes + x, c = lanes - x, d = x - lanes * lanes, e = lanes * lanes * x, f = b * c;
    for (int k = 0; k < n; ++k) {
        a = mad(a, b, c);
        b = mad(b, c, d);
        c = mad(c, d, e);
        d = mad(d, e, f);
        e = mad(e, f, a); // here
        f = mad(f, a, b);
    }
    out[i] = sum_of(a + b + c + d + e + f);
}

kernel void quick(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    const float x = in[i];
    float sum = 0;
    for (int lane = 0; lane < 8; ++lane) {
        float a = lane * x, b = lane + x, c = lane - x, d = x - lane * lane, e = lane * lane * x, f = b * c;
#pragma unroll 1
        for (int k = 0; k < n; ++k) {
            a = mad(a, b, c);
            b = mad(b, c, d);
            c = mad(c, d, e);
            d = mad(d, e, f);
            e = mad(e, f, a);
            f = mad(f, a, b);
        }
        sum += a + b + c + d + e + f;
    }
    out[i] = sum;
}

// Vectors for the sake of wide loads and stores.
kernel void quick_wide(global const float8 *in, global float8 *out, int n)
{
    const int i = get_global_id(0);
    float8 a = in[6 * i], b = in[6 * i + 1], c = in[6 * i + 2];
    float8 d = in[6 * i + 3], e = in[6 * i + 4], f = in[6 * i + 5];
    for (int k = 0; k < n; ++k) {
        a = mad(a, b, c);
        b = mad(b, c, d);
        c = mad(c, d, e);
        d = mad(d, e, f);
        e = mad(e, f, a);
        f = mad(f, a, b);
    }
    out[i] = a + b + c + d + e + f;
}

// Vectors, and enough threads beside them.
kernel void quick_few(global const float *in, global float *out, int n)
{
    const int i = get_global_id(0);
    float2 a = (float2)(in[i], in[i + n]);
    for (int k = 0; k < n; ++k)
        a = mad(a, a.yx, 1.0f);
    out[i] = a.x + a.y;
}
