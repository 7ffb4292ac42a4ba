// Makes a plain matrix of an operand that packing.cl packed: lane after lane, each contiguous along K, without gaps.
// That is a row-major A, or a column-major B.
//
// A way out for a product that cannot use the kernel its operand was packed for, not a fast path: every work-item
// gathers by the formula of the packed layout.
//
// BYTES_EACH: bytes of an element, 1, 2 or 4; a copy does not interpret them.
// FROM_IMAGE: 1 reads an image of four channels in a texel; elements of 2 and 4 bytes.

#ifndef BYTES_EACH
#define BYTES_EACH 4
#endif
#ifndef FROM_IMAGE
#define FROM_IMAGE 0
#endif

#if BYTES_EACH == 1
#define ELEMENT uchar
#elif BYTES_EACH == 2
#define ELEMENT ushort
#else
#define ELEMENT uint
#endif

// A work-item copies four steps along K of one lane. `from_at` is the packed operand's view: unused, from panel to
// panel, from step to step, from product to product. `tile` is the number of lanes of a tile; `depth` the number of
// neighbouring steps of a lane.
//
// Global size: lanes x groups of four steps, both rounded up to whole work-groups, x products.
#if FROM_IMAGE
kernel void gemm_unpack(read_only image2d_t from, const uint4 from_at, global ELEMENT *to,
#else
kernel void gemm_unpack(global const ELEMENT *from, const uint4 from_at, global ELEMENT *to,
#endif
                        const uint tile, const uint depth, const uint lanes, const uint k)
{
    const uint lane = get_global_id(0);
    const uint first = get_global_id(1) * 4;
    const uint batch = get_global_id(2);
    if (lane >= lanes)
        return;
    const uint end = min(first + 4, k);
    to += ((size_t)batch * lanes + lane) * k;

#if FROM_IMAGE
    const sampler_t texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
    for (uint step = first; step < end; ++step) {
        const float4 four = read_imagef(from, texels, (int2)(lane / 4, batch * from_at.w + step));
        const float2 pair = lane & 2 ? four.hi : four.lo;
        const float one = lane & 1 ? pair.y : pair.x;
#if BYTES_EACH == 2
        vstore_half(one, step, (global half *)to);
#else
        to[step] = as_uint(one);
#endif
    }
#else
    const uint panel = from_at.z / (tile * depth);
    const uint of_tile = lane / tile;
    from += (size_t)batch * from_at.w + of_tile / panel * from_at.y + of_tile % panel * (tile * depth);
    from += lane % tile * depth;
    for (uint step = first; step < end; ++step)
        to[step] = from[step / depth * from_at.z + step % depth];
#endif
}
