// One component is made of another, through memory that may only be written.
kernel void part_of_vector_read(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    out[i].y = in[i];
    out[i].x = 2 * out[i].y; //~ ERROR write-only-read
}

kernel void part_of_vector_read_ok(global const float *in, global float4 *out) {
    int i = get_global_id(0);
    out[i].y = in[i];
    out[i].x = 2 * in[i];
}
