// A sum is added to an output that was made write-only.
kernel void sum_into_write_only(global const float *in, global float *out) {
    int i = get_global_id(0);
    out[i] += in[i]; //~ ERROR write-only-read
}
