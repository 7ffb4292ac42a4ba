// on: Mali-G52, Mali-G77

// One line, wherever in it most registers are live.
#define ROTATE(vector) \
    const vector a = in[0], b = in[1], c = in[2], d = in[3], e = in[4], f = in[5]; \
    out[0] = a + b * weight, out[1] = b + c * weight, out[2] = c + d * weight; \
    out[3] = d + e * weight, out[4] = e + f * weight, out[5] = f + a * weight;

kernel void slow(global const float16 *in, global float16 *out, float16 weight)
{
    in += 6 * get_global_id(0), out += 6 * get_global_id(0);
    ROTATE(float16) // here
}

// A quarter of the work a work-item fits.
kernel void quick_narrow(global const float4 *in, global float4 *out, float4 weight)
{
    in += 6 * get_global_id(0), out += 6 * get_global_id(0);
    ROTATE(float4)
}
