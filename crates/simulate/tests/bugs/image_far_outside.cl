// Far outside, through a sampler that promises to stay inside.
constant sampler_t inside = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

kernel void image_far_outside(read_only image2d_t image, global float4 *out, int left) {
    int i = get_global_id(0);
    out[i] = read_imagef(image, inside, (int2)(left + i, 0)); //~ ERROR image-read-outside
}

kernel void image_far_outside_ok(read_only image2d_t image, global float4 *out, int left) {
    int i = get_global_id(0);
    out[i] = read_imagef(image, inside, (int2)(clamp(left + i, 0, 15), 0));
}
