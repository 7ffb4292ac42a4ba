// A switch that knows modes 0 and 1, and a host that asks for 2.
kernel void mode_without_default(global const float *in, global float *out, int mode) {
    int i = get_global_id(0);
    float weight;
    switch (mode) {
    case 0: weight = 0.5f; break;
    case 1: weight = 1.0f; break;
    }
    out[i] = weight * in[i]; //~ ERROR uninitialised-value
}

kernel void mode_without_default_ok(global const float *in, global float *out, int mode) {
    int i = get_global_id(0);
    float weight;
    switch (mode) {
    case 0: weight = 0.5f; break;
    case 1: weight = 1.0f; break;
    default: weight = 0.0f;
    }
    out[i] = weight * in[i];
}
