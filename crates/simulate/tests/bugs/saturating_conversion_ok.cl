// Saturation is asked for, and a NaN becomes 0.
kernel void saturating_conversion_ok(global const float *in, global short *out) {
    int i = get_global_id(0);
    out[i] = convert_short_sat_rte(in[i]);
}
