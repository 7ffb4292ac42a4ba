// The array was made by a language whose numbers are doubles.
kernel void doubles_for_floats( //~ WARNING argument-type
    global const float *in, global float *out) {
    int i = get_global_id(0);
    out[i] = 0.5f * in[i];
}
