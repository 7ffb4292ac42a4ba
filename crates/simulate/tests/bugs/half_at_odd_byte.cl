// A tag byte before each half.
kernel void half_at_odd_byte(global const uchar *records, global float *out) {
    int i = get_global_id(0);
    out[i] = vload_half(0, (global const half *)(records + 3 * i + 1)); //~ ERROR misaligned-vector
}

kernel void half_at_odd_byte_ok(global const uchar *records, global float *out) {
    int i = get_global_id(0);
    out[i] = vload_half(0, (global const half *)(records + 4 * i + 2));
}
