// vload4 needs no float4, but it needs floats: this address is odd.
kernel void floats_in_bytes(global const uchar *bytes, global float4 *out) {
    int i = get_global_id(0);
    out[i] = vload4(0, (global const float *)(bytes + i + 1)); //~ ERROR misaligned-vector
}

kernel void floats_in_bytes_ok(global const uchar *bytes, global float4 *out) {
    int i = get_global_id(0);
    out[i] = as_float4(vload16(0, bytes + i + 1));
}
