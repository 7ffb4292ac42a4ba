// A float3 has room for four; the fourth is nobody's.
kernel void float3_ok(global const float *in, global float3 *out) {
    int i = get_global_id(0);
    float3 points[2];
    points[0] = vload3(i, in);
    points[1] = -points[0];
    out[i] = points[i & 1];
}
