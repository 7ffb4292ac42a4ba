// Two tiles in turn need one barrier per iteration: a work-item that writes a tile has met its last readers at one.
kernel void double_buffer_ok(global const float *in, global float *out, int rounds) {
    local float tile[2][16];
    int i = get_global_id(0), l = get_local_id(0);
    float sum = 0.0f;
    for (int r = 0; r < rounds; r++) {
        tile[r & 1][l] = in[(i + r) % 64];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[r & 1][15 - l];
    }
    out[i] = sum;
}
