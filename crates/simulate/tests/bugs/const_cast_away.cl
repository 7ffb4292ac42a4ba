// The input is scratch as well, once the const is cast away.
kernel void const_cast_away(global const float *in, global float *out) {
    int i = get_global_id(0);
    global float *scratch = (global float *)in;
    scratch[i] = in[i] * in[i]; //~ ERROR read-only-write
    out[i] = scratch[i] + 1.0f;
}

kernel void const_cast_away_ok(global const float *in, global float *out) {
    int i = get_global_id(0);
    float square = in[i] * in[i];
    out[i] = square + 1.0f;
}
