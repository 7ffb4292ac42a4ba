kernel void steps(global float *data, local float *tile) {
    const uint i = get_local_id(0), g = get_global_id(0);
    tile[i] = data[g];
    for (uint s = 1; s < 64; s <<= 1) { barrier(CLK_LOCAL_MEM_FENCE); float v = i >= s ? tile[i - s] : 0;
        barrier(CLK_LOCAL_MEM_FENCE); tile[i] += v; }
    data[g] = tile[i];
}
kernel void lut(global const uchar *in, global uchar *out, global const uchar *table) {
    const uint i = get_global_id(0); out[i] = table[in[i]]; }
