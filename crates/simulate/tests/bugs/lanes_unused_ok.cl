// A float4 of which three lanes are ever set or looked at.
kernel void lanes_unused_ok(global const float *in, global float *lengths) {
    int i = get_global_id(0);
    float4 v;
    v.x = in[3 * i];
    v.y = in[3 * i + 1];
    v.z = in[3 * i + 2];
    float4 squares = v * v;
    lengths[i] = sqrt(squares.x + squares.y + squares.z);
}
