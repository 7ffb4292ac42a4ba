// The host passes a sampler for coordinates from 0 to 1; the kernel counts pixels.
kernel void pixels_as_normalised(read_only image2d_t image, sampler_t sampler, global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float2 at = (float2)(x + 0.5f, y + 0.5f);
    out[y * 16 + x] = read_imagef(image, sampler, at).x; //~ ERROR image-read-outside
}
