// A filter's taps at the border, with CLK_ADDRESS_NONE instead of CLK_ADDRESS_CLAMP_TO_EDGE.
constant sampler_t none = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void image_halo(read_only image2d_t image, global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float left = read_imagef(image, none, (int2)(x - 1, y)).x; //~ ERROR image-read-outside
    float right = read_imagef(image, none, (int2)(x + 1, y)).x; //~ ERROR image-read-outside
    out[y * 16 + x] = right - left;
}

kernel void image_halo_ok(read_only image2d_t image, global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float left = read_imagef(image, edge, (int2)(x - 1, y)).x;
    float right = read_imagef(image, edge, (int2)(x + 1, y)).x;
    out[y * 16 + x] = right - left;
}
