// The kernel keeps to the pitch; whoever made the buffer counted width x height.
kernel void pitch_ignored(global const float *in, global float *out, int width, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * pitch + x] = 1.0f - in[y * width + x]; //~ ERROR out-of-bounds-write
}
