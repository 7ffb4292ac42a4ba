// A float4 lies at multiples of 16 bytes; this one at multiples of four.
kernel void cast_to_float4(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    out[i] = *(global const float4 *)(in + i + 1); //~ ERROR misaligned-access
}

kernel void cast_to_float4_ok(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    out[i] = vload4(0, in + i + 1);
}
