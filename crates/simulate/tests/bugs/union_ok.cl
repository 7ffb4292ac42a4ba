// One half of a union written as scalars, read as a vector, and as bytes.
typedef union {
    float4 vector;
    float lanes[4];
    uchar bytes[16];
} Quad;

kernel void union_ok(global const float *in, global float4 *out, global uchar *signs) {
    int i = get_global_id(0);
    Quad quad;
    for (int k = 0; k < 4; k++) quad.lanes[k] = in[4 * i + k];
    out[i] = quad.vector;
    signs[i] = quad.bytes[3] >> 7;
}
