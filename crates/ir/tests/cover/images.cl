// Images of every kind, samplers of every mode, reads, writes, queries.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
constant sampler_t s0 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
constant sampler_t s1 = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;
float4 through(read_only image2d_t i, sampler_t s, float2 c) { return read_imagef(i, s, c); }
kernel void reads(read_only image1d_t a, read_only image2d_t b, read_only image3d_t c, read_only image1d_array_t d,
                  read_only image2d_array_t e, read_only image1d_buffer_t f, sampler_t s, global float4 *o,
                  global int4 *p, global uint4 *q, global half4 *h) {
    const sampler_t s2 = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
    const sampler_t s3 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    const sampler_t s4 = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
    o[0] = read_imagef(a, s, 1) + read_imagef(a, s0, 0.5f) + read_imagef(b, s1, (float2)(0.5f, 0.25f));
    o[1] = read_imagef(b, s2, (int2)(1, 2)) + read_imagef(c, s3, (int4)(1, 2, 3, 0)) + read_imagef(c, s4, (float4)(1));
    o[2] = read_imagef(d, s, (int2)(1, 2)) + read_imagef(e, s, (float4)(1)) + read_imagef(f, 3);
    o[3] = read_imagef(b, (int2)(3, 4)) + through(b, s, (float2)(1, 2)) + through(b, s1, (float2)(1, 2));
    p[0] = read_imagei(b, s, (int2)(1, 2)) + read_imagei(f, 2) + read_imagei(c, (int4)(1));
    q[0] = read_imageui(b, s, (float2)(1, 2)) + read_imageui(e, (int4)(1));
    h[0] = read_imageh(b, s, (int2)(1, 2));
}
kernel void writes(write_only image1d_t a, write_only image2d_t b, write_only image3d_t c, write_only image1d_array_t d,
                   write_only image2d_array_t e, write_only image1d_buffer_t f, float4 x, int4 y, uint4 z, half4 h) {
    write_imagef(a, 1, x); write_imagef(b, (int2)(1, 2), x); write_imagef(c, (int4)(1), x);
    write_imagei(d, (int2)(1), y); write_imageui(e, (int4)(1), z); write_imagef(f, 5, x);
    write_imageh(b, (int2)(1, 2), h);
}
kernel void both(read_write image2d_t a) { write_imagef(a, (int2)(1, 2), read_imagef(a, (int2)(3, 4))); }
kernel void queries(read_only image2d_t a, read_only image3d_t b, read_only image2d_array_t c, read_only image1d_t d,
                    read_only image1d_buffer_t e, global int4 *o, global size_t *s) {
    o[0] = (int4)(get_image_width(a), get_image_height(a), get_image_width(d), get_image_width(e));
    o[1] = get_image_dim(b);
    o[2].xy = get_image_dim(a) + get_image_dim(c);
    o[3] = (int4)(get_image_depth(b), get_image_channel_data_type(a), get_image_channel_order(a), 0);
    s[0] = get_image_array_size(c);
}
