// The position of a ring buffer has counted up to the greatest int.
kernel void ring_position(global const float *ring, global float *out, int head) {
    int i = get_global_id(0);
    out[i] = ring[(head + i) & 63]; //~ ERROR address-overflow
}

kernel void ring_position_ok(global const float *ring, global float *out, uint head) {
    int i = get_global_id(0);
    out[i] = ring[(head + i) & 63];
}
