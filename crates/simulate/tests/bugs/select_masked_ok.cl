// Work-items without an element carry an unset value along and drop it.
kernel void select_masked_ok(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    float value;
    if (i < n) value = in[i];
    out[i] = i < n ? value : 0.0f;
}
