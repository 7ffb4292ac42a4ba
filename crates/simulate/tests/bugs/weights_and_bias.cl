// Ten weights are read, nine there are: the tenth is the bias.
typedef struct {
    float weights[9];
    float bias;
} Filter;

kernel void weights_and_bias(global const Filter *filter, global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum = filter->bias;
    for (int k = 0; k <= 9; k++)
        sum += filter->weights[k] * in[i + k]; //~ ERROR inner-array-bounds
    out[i] = sum;
}

kernel void weights_and_bias_ok(global const Filter *filter, global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum = filter->bias;
    for (int k = 0; k < 9; k++) sum += filter->weights[k] * in[i + k];
    out[i] = sum;
}
