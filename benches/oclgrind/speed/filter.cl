// A 3x3 filter over an image of floats, coordinates clamped to its edges.
kernel void filter(global const float *in, global float *out, constant float *weights, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            int from_x = clamp(x + column - 1, 0, width - 1);
            int from_y = clamp(y + row - 1, 0, height - 1);
            sum += weights[3 * row + column] * in[from_y * width + from_x];
        }
    }
    out[y * width + x] = sum;
}
