// A random position from a generator in ints, which overflows at its first step.
kernel void random_sample(global const float *in, global float *out, int seed) {
    int i = get_global_id(0);
    int state = (seed + i) * 1103515245 + 12345; //~ ERROR address-overflow
    out[i] = in[state & 63];
}

kernel void random_sample_ok(global const float *in, global float *out, uint seed) {
    int i = get_global_id(0);
    uint state = (seed + i) * 1103515245u + 12345u;
    out[i] = in[state & 63];
}
