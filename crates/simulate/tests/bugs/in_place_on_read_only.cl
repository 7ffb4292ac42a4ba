// The host made the buffer read-only, the kernel works in place.
kernel void in_place_on_read_only(global float *data) {
    int i = get_global_id(0);
    data[i] = data[i] * 0.5f; //~ ERROR read-only-write
}
