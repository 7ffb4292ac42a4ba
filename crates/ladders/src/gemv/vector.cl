// y = x W over half, four neighbouring elements of y a work-item.
//
// Four columns are one load of 8 bytes, or one texel, and each element of x serves four multiply-adds. The four steps along
// K of an iteration are four loads that do not depend on each other: more requests on their way to memory.
//
// From an image, W goes through the texture unit. On an Adreno that is the wider path: buffers are loaded by few
// work-items a clock there, texels by many. On a Mali, both end in caches of the same rate.
//
// Lesson: what remains is parallelism. A layer of 1024 outputs is 256 work-items now; a GPU wants tens of thousands.
//
// IMAGE: 1 reads W from an image of n / 4 texels a row.
//
// W has `quads` columns of four, filled with zeros, and k is a multiple of 4: filled with zeros too, x as well.

#ifndef IMAGE
#define IMAGE 0
#endif
#if IMAGE
#define WEIGHTS read_only image2d_t
#define WEIGHTS_AT(line) read_imagef(w, (int2)(quad, line))
#else
#define WEIGHTS global const half *
#define WEIGHTS_AT(line) vload_half4((line) * quads + quad, w)
#endif

// Global size: quads, rounded up to whole work-groups, x vectors.
kernel void gemv_vector(global const half *x, WEIGHTS w, global half *y, const uint n, const uint quads, const uint k)
{
    const uint quad = get_global_id(0);
    const uint i = get_global_id(1);
    if (quad >= quads)
        return;
    float4 sum = 0;
    for (uint l = 0; l < k; l += 4) {
        const float4 steps = vload_half4((i * k + l) / 4, x);
        sum += steps.s0 * WEIGHTS_AT(l);
        sum += steps.s1 * WEIGHTS_AT(l + 1);
        sum += steps.s2 * WEIGHTS_AT(l + 2);
        sum += steps.s3 * WEIGHTS_AT(l + 3);
    }
    y += i * n + 4 * quad;
    if (4 * quad + 4 <= n) {
        vstore_half4(sum, 0, y);
    } else {
        vstore_half(sum.s0, 0, y);
        if (4 * quad + 1 < n)
            vstore_half(sum.s1, 1, y);
        if (4 * quad + 2 < n)
            vstore_half(sum.s2, 2, y);
    }
}
