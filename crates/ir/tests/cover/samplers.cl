// A sampler that functions hand on, met before any kernel has one.
float4 inner(read_only image2d_t image, sampler_t sampler, int2 at) { return read_imagef(image, sampler, at); }
float4 outer(read_only image2d_t image, const sampler_t sampler, int2 at) { return inner(image, sampler, at) * 2.0f; }
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
// Without a filter: the nearest texel.
constant sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP;
kernel void given(read_only image2d_t image, sampler_t sampler, global float4 *out) {
    out[0] = outer(image, sampler, (int2)(1, 2));
}
kernel void constants(read_only image2d_t image, global float4 *out) {
    const sampler_t own = CLK_FILTER_LINEAR | CLK_ADDRESS_REPEAT | CLK_NORMALIZED_COORDS_TRUE;
    out[0] = outer(image, nearest, (int2)(1, 2)) + inner(image, plain, (int2)(3, 4));
    out[1] = read_imagef(image, own, (float2)(0.5f, 0.25f));
}
