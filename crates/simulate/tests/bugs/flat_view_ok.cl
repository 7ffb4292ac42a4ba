// A matrix filled through a pointer to its first element, as everybody does.
kernel void flat_view_ok(global const float *in, global float *out) {
    float m[4][4];
    float *flat = &m[0][0];
    int i = get_global_id(0);
    for (int k = 0; k < 16; k++) flat[k] = in[(i + k) % 64];
    float trace = 0.0f;
    for (int k = 0; k < 4; k++) trace += m[k][k];
    out[i] = trace;
}
