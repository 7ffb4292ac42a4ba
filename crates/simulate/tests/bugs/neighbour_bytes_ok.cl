// Work-items of a group and of different groups write bytes of the same word.
kernel void neighbour_bytes_ok(global const uchar *in, global uchar *out) {
    local uchar row[16];
    int i = get_global_id(0), l = get_local_id(0);
    row[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = row[l ^ 1];
}
