// The kernel uses the pitch, but the buffer was allocated for width x height.
kernel void pitch_ignored(global const float *in, global float *out, int width, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * pitch + x] = 1.0f - in[y * width + x]; //~ ERROR out-of-bounds-write
}
