// NaNs that came in go out, or are filtered: none is born here.
kernel void nan_passes_ok(
    global const float *in, global float *scaled, global float *filtered, global float *roots) {
    int i = get_global_id(0);
    scaled[i] = 2.0f * in[i] + 1.0f;
    filtered[i] = fmax(in[i], 0.0f);
    roots[i] = sqrt(in[i]);
}
