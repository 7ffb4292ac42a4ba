// The zero vector has no direction.
kernel void unit_of_nothing(global const float4 *in, global float4 *out) {
    int i = get_global_id(0);
    float scale = rsqrt(dot(in[i], in[i]));
    out[i] = in[i] * scale; //~ WARNING nan-born
}

kernel void unit_of_nothing_ok(global const float4 *in, global float4 *out) {
    int i = get_global_id(0);
    float scale = rsqrt(fmax(dot(in[i], in[i]), 1e-20f));
    out[i] = in[i] * scale;
}
