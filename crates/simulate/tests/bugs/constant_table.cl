// Steps of 1/8 of a turn, 0 to 8: the ninth is the first again, and not in the table.
constant float sines[8] = {0.0f, 0.7071f, 1.0f, 0.7071f, 0.0f, -0.7071f, -1.0f, -0.7071f};

kernel void constant_table(global const float *in, global float *out) {
    int i = get_global_id(0);
    int step = (int)(in[i] * 8.0f + 0.5f);
    out[i] = sines[step]; //~ ERROR out-of-bounds-read
}

kernel void constant_table_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    int step = (int)(in[i] * 8.0f + 0.5f);
    out[i] = sines[step & 7];
}
