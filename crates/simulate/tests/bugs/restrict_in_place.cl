// Two restrict pointers into one buffer: the compiler may load late and store early.
kernel void restrict_in_place( //~ WARNING aliasing-arguments
    global const float *restrict in, global float *restrict out) {
    int i = get_global_id(0);
    out[i] = 0.5f * in[i];
}
