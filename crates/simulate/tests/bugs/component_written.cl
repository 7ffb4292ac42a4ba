// The weights of a row of six go into a vector of four.
kernel void component_written(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    float4 v = (float4)(0.0f);
    for (int k = 0; k < 6; k++)
        v[k] = in[(i + k) % 64]; //~ ERROR lane-out-of-range
    out[i] = v;
}

kernel void component_written_ok(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    float4 v = (float4)(0.0f);
    for (int k = 0; k < 6; k++)
        if (k < 4) v[k] = in[(i + k) % 64];
    out[i] = v;
}
