// The blend goes back into its second operand, against what its signature says.
kernel void restrict_blend( //~ WARNING aliasing-arguments
    global const float *restrict a, global const float *restrict b, global float *restrict out,
    float weight) {
    int i = get_global_id(0);
    out[i] = mix(a[i], b[i], weight);
}
