// A border colour and a clamped edge are there to be read, however far outside.
constant sampler_t border = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
constant sampler_t edge = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_border_ok(read_only image2d_t image, global float *out) {
    int i = get_global_id(0);
    float outside = read_imagef(image, border, (int2)(i - 32, 3)).x;
    out[i] = outside + read_imagef(image, edge, (float2)(i / 32.0f - 0.5f, 2.0f)).x;
}
