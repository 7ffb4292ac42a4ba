// The tail of a row in lanes: those past the end are unset, and masked before they are stored.
kernel void lanes_masked_ok(global const float *in, global float4 *out, int n) {
    int i = get_global_id(0);
    int4 lane = 4 * i + (int4)(0, 1, 2, 3);
    float4 v;
    if (lane.x < n) v.x = in[lane.x];
    if (lane.y < n) v.y = in[lane.y];
    if (lane.z < n) v.z = in[lane.z];
    if (lane.w < n) v.w = in[lane.w];
    out[i] = select((float4)(0.0f), v, lane < n);
}
