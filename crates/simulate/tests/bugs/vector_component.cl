// Component 4 of a vector of four.
kernel void vector_component(global const float4 *in, global float *out) {
    int i = get_global_id(0);
    float4 v = in[i];
    out[i] = v[i % 5]; //~ ERROR lane-out-of-range
}

kernel void vector_component_ok(global const float4 *in, global float *out) {
    int i = get_global_id(0);
    float4 v = in[i];
    out[i] = v[i % 4];
}
