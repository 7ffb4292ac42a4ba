// An image of 18x10 written by a range of 20x10.
kernel void image_rounded_up(global const float *in, write_only image2d_t image) {
    int x = get_global_id(0), y = get_global_id(1);
    write_imagef(image, (int2)(x, y), (float4)(in[x])); //~ ERROR image-write-outside
}

kernel void image_rounded_up_ok(global const float *in, write_only image2d_t image) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < get_image_width(image) && y < get_image_height(image))
        write_imagef(image, (int2)(x, y), (float4)(in[x]));
}
