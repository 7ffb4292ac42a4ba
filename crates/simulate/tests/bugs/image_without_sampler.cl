// Reads without a sampler have no border at all.
kernel void image_without_sampler(read_only image2d_t image, global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float below = read_imagef(image, (int2)(x, y + 1)).x; //~ ERROR image-read-outside
    out[y * 16 + x] = below;
}

kernel void image_without_sampler_ok(read_only image2d_t image, global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float below = read_imagef(image, (int2)(x, min(y + 1, get_image_height(image) - 1))).x;
    out[y * 16 + x] = below;
}
