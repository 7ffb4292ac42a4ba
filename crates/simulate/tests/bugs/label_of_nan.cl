// A NaN has no integer.
kernel void label_of_nan(global const float *in, global int *labels) {
    int i = get_global_id(0);
    labels[i] = convert_int(in[i]); //~ WARNING float-to-int-range
}

kernel void label_of_nan_ok(global const float *in, global int *labels) {
    int i = get_global_id(0);
    labels[i] = isnan(in[i]) ? -1 : convert_int(in[i]);
}
