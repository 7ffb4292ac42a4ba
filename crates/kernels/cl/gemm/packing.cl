// Packs an operand in panels, in the order in which gemm_tile reads it: the elements of a step along K are
// neighbours, and the next step's follow, padded with zeros to whole panels. The inner loop needs no test for the
// edge, and every load is contiguous.
//
// A panel is `panel` tiles of LANES rows of the operand (columns, for B). With one tile in a panel, a work-item reads
// it front to back, which suits the caches and prefetchers of a CPU. With all tiles in one panel, neighbouring
// work-items read neighbouring elements, which a GPU fetches together; an image has no other form.
//
// The zeros do no harm: a padded row or column ends in rows or columns of C that are not stored. K is only padded for
// dot products of four, in both operands at once, so that 0 * 0 is added; 0 * inf would be NaN.
//
// BYTES_EACH: bytes of an element, 1, 2 or 4; a copy does not interpret them.
// LANES:      rows (columns) of a tile, 1 to 16.
// DOT:        1 makes 4 steps along K of a lane neighbours, for dot products of four bytes.
// ALONG:      1 when the operand is contiguous along K, 0 when it is contiguous across the tile.
// TO_IMAGE:   1 writes to an image of four channels in a texel; elements of 2 and 4 bytes, LANES 4, 8, 12 or 16.
// OFFSETS:    1 reads where the products of a batch begin from a buffer.

#ifndef BYTES_EACH
#define BYTES_EACH 4
#endif
#ifndef LANES
#define LANES 4
#endif
#ifndef DOT
#define DOT 0
#endif
#ifndef ALONG
#define ALONG 0
#endif
#ifndef TO_IMAGE
#define TO_IMAGE 0
#endif
#ifndef OFFSETS
#define OFFSETS 0
#endif

#if BYTES_EACH == 1
#define ELEMENT uchar
#elif BYTES_EACH == 2
#define ELEMENT ushort
#else
#define ELEMENT uint
#endif
typedef JOIN(ELEMENT, 4) four_t;

#define EACH_LANE PASTE(TIMES_, LANES)

// Four steps along K of one lane; zeros outside.
static four_t steps_of(global const ELEMENT *from, const uint4 at, const uint lane, const uint step, const uint lanes,
                       const uint k)
{
    four_t values = 0;
    if (lane >= lanes)
        return values;
    from += lane * at.y + step * at.z;
#if ALONG
    if (step + 4 <= k)
        return vload4(0, from);
#endif
    if (step < k)
        values.s0 = from[0];
    if (step + 1 < k)
        values.s1 = from[at.z];
    if (step + 2 < k)
        values.s2 = from[2 * at.z];
    if (step + 3 < k)
        values.s3 = from[3 * at.z];
    return values;
}

// A work-item packs four steps along K of a tile's lanes. `from_at` is the operand's view: offset, from lane to lane,
// from step to step, from product to product; `to_at` is that of the packed operand: unused, from panel to panel,
// from step to step, from product to product. `operand` is this operand's column of `offsets`.
//
// Global size: tiles, padded to whole panels, x groups of four steps, rounded up to whole work-groups, x products.
#if TO_IMAGE
kernel void gemm_pack(global const ELEMENT *from, const uint4 from_at, write_only image2d_t to, const uint4 to_at,
#else
kernel void gemm_pack(global const ELEMENT *from, const uint4 from_at, global ELEMENT *to, const uint4 to_at,
#endif
                      const uint lanes, const uint k, const uint tiles
#if OFFSETS
                      , global const uint *offsets, const uint operand
#endif
)
{
    const uint tile = get_global_id(0);
    const uint step = get_global_id(1) * 4;
    const uint batch = get_global_id(2);
    if (tile >= tiles || step >= k)
        return;
    from += from_at.x + (size_t)batch * from_at.w;
#if OFFSETS
    from += offsets[3 * batch + operand];
#endif

#if TO_IMAGE
    // A texel holds four lanes of one step.
    for (uint texel = 0; texel < LANES / 4; ++texel) {
        const uint lane = tile * LANES + texel * 4;
        const four_t l0 = steps_of(from, from_at, lane, step, lanes, k);
        const four_t l1 = steps_of(from, from_at, lane + 1, step, lanes, k);
        const four_t l2 = steps_of(from, from_at, lane + 2, step, lanes, k);
        const four_t l3 = steps_of(from, from_at, lane + 3, step, lanes, k);
        const int x = lane / 4, y = batch * to_at.w + step;
#if BYTES_EACH == 2
#define WRITE(i) \
    if (step + i < k) { \
        const ushort4 bits = (ushort4)(l0.s##i, l1.s##i, l2.s##i, l3.s##i); \
        write_imagef(to, (int2)(x, y + i), vload_half4(0, (const half *)&bits)); \
    }
#else
#define WRITE(i) \
    if (step + i < k) \
        write_imagef(to, (int2)(x, y + i), as_float4((four_t)(l0.s##i, l1.s##i, l2.s##i, l3.s##i)));
#endif
        WRITE(0) WRITE(1) WRITE(2) WRITE(3)
    }
#else
#if DOT
#define DEPTH 4
#else
#define DEPTH 1
#endif
    const uint panel = to_at.z / (LANES * DEPTH);
    to += (size_t)batch * to_at.w + tile / panel * to_at.y + tile % panel * (LANES * DEPTH) + step / DEPTH * to_at.z;
#if !ALONG && !DOT && (LANES == 2 || LANES == 4 || LANES == 8 || LANES == 16)
    // A step's lanes are contiguous on both sides.
    if (tile * LANES + LANES <= lanes) {
        from += tile * LANES + step * from_at.z;
        const uint left = min(k - step, 4u);
        for (uint i = 0; i < left; ++i)
            JOIN(vstore, LANES)(JOIN(vload, LANES)(0, from + i * from_at.z), 0, to + i * to_at.z);
        return;
    }
#endif
#define READ(i) const four_t lane_##i = steps_of(from, from_at, tile * LANES + 0x##i, step, lanes, k);
    EACH_LANE(READ)
#if DOT
#define WRITE(i) vstore4(lane_##i, 0x##i, to);
    EACH_LANE(WRITE)
#else
#define WRITE_0(i) to[0x##i] = lane_##i.s0;
#define WRITE_1(i) to[to_at.z + 0x##i] = lane_##i.s1;
#define WRITE_2(i) to[2 * to_at.z + 0x##i] = lane_##i.s2;
#define WRITE_3(i) to[3 * to_at.z + 0x##i] = lane_##i.s3;
    EACH_LANE(WRITE_0)
    if (step + 1 < k) {
        EACH_LANE(WRITE_1)
    }
    if (step + 2 < k) {
        EACH_LANE(WRITE_2)
    }
    if (step + 3 < k) {
        EACH_LANE(WRITE_3)
    }
#endif
#endif
}
