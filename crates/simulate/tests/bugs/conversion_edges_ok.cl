// What is cut off at the decimal point may lie a little outside of the range.
kernel void conversion_edges_ok(global const float *in, global uchar *bytes, global int *ints) {
    int i = get_global_id(0);
    bytes[i] = (uchar)in[i];
    ints[i] = (int)(in[4 + i]);
}
