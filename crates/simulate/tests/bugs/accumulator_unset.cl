// The sum starts from nothing instead of from 0.
kernel void accumulator_unset(global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum;
    for (int k = 0; k < 4; k++) sum += in[4 * i + k];
    out[i] = sum; //~ ERROR uninitialised-value
}

kernel void accumulator_unset_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) sum += in[4 * i + k];
    out[i] = sum;
}
