//! Coordinates outside images.

use tripipe_ir::diagnostic::{Rule, Severity};

/// An image is read outside its bounds.
pub const IMAGE_READ_OUTSIDE: Rule = Rule {
    code: "image-read-outside",
    severity: Severity::Error,
    title: "an image is read out of range, where its value is undefined",
    what: "
`read_image` with a coordinate outside of the image, by a sampler with `CLK_ADDRESS_NONE` or without a sampler. The layer
of an image array is exempt: it is always clamped.",
    why: "
`CLK_ADDRESS_NONE` asserts that this does not happen, and so does a read without a sampler. The result is undefined:
the border on one GPU, zero or other memory on the next.",
    example: "
__constant sampler_t exact = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

__kernel void shift_left(__read_only image2d_t in, __write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, exact, at + (int2)(1, 0)));
}",
    advice: "Let the sampler handle the border; on a GPU this costs nothing.",
    instead: "
__constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void shift_left(__read_only image2d_t in, __write_only image2d_t out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, read_imagef(in, edge, at + (int2)(1, 0)));
}",
    remark: "Images made from buffers (`image1d_buffer_t`) cannot use a sampler: clamp the coordinate in the kernel.",
    exceptions: "When the value is discarded afterwards. Clamping is still the cheaper solution.",
    source: "
- OpenCL C 3.0, 6.15.15.1 Samplers: with `CLK_ADDRESS_NONE` the results outside are undefined. 6.15.15.3 Built-in Image
  Sampler-less Read Functions: they behave as with `CLK_ADDRESS_NONE`.",
    ..Rule::CHECK
};

/// An image is written outside its bounds.
pub const IMAGE_WRITE_OUTSIDE: Rule = Rule {
    code: "image-write-outside",
    severity: Severity::Error,
    title: "an image is written out of range",
    what: "`write_image` with a coordinate below 0 or not below the image's width, height, depth or number of layers.",
    why: "
Many GPUs drop the write, so the error stays unnoticed. They do not have to: the behavior is undefined, and in an
image that was made from a buffer, neighbouring bytes may be changed.",
    example: "
__kernel void fill(__write_only image2d_t out, float4 colour) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, colour);  // the global size was rounded up
}",
    instead: "
__kernel void fill(__write_only image2d_t out, float4 colour) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x < get_image_width(out) && at.y < get_image_height(out))
        write_imagef(out, at, colour);
}",
    exceptions: "Never by the specification, though many devices drop such writes.",
    source: "
- OpenCL C 3.0, 6.15.15.4 Built-in Image Write Functions: with coordinates out of range the behavior is undefined.",
    ..Rule::CHECK
};
