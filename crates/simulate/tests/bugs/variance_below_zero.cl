// The mean of squares less the square of the mean: rounding takes it below zero.
kernel void variance_below_zero(
    global const float *squares, global const float *means, global float *deviations) {
    int i = get_global_id(0);
    float variance = squares[i] - means[i] * means[i];
    deviations[i] = sqrt(variance); //~ WARNING nan-born
}

kernel void variance_below_zero_ok(
    global const float *squares, global const float *means, global float *deviations) {
    int i = get_global_id(0);
    float variance = squares[i] - means[i] * means[i];
    deviations[i] = sqrt(fmax(variance, 0.0f));
}
