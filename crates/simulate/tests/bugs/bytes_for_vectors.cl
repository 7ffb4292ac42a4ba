// Pixels in bytes, read as vectors of int: four times too much for each work-item.
kernel void bytes_for_vectors( //~ WARNING argument-type
    global const int4 *in, global float4 *out) {
    int i = get_global_id(0) & 3;
    out[get_global_id(0)] = convert_float4(in[i]);
}

kernel void bytes_for_vectors_ok(global const uchar4 *in, global float4 *out) {
    int i = get_global_id(0) & 3;
    out[get_global_id(0)] = convert_float4(in[i]);
}
