// A pointer to one past the end is compared with, never read through.
kernel void end_pointer_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    global const float *end = in + 4 * i + 4;
    float sum = 0.0f;
    for (global const float *p = in + 4 * i; p != end; p++) sum += *p;
    out[i] = sum;
}
