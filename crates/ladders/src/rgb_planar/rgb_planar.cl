// Packed RGB to three planes, and back: no arithmetic, only bytes that must change places.
//
// `packed` is 3 * pixels bytes, r g b r g b ...; `planes` is as many: all reds, all greens, all blues. They are no
// alias of each other. Images are flat here: rows follow each other without gaps on both sides, so there is one
// end, not one a row. The host rounds the global size up; surplus work-items return at once, and the one whose
// 16 pixels are not all there takes them one by one.

static void split_one(global const uchar *packed, global uchar *planes, const uint pixels, const uint i)
{
    planes[i] = packed[3 * i];
    planes[pixels + i] = packed[3 * i + 1];
    planes[2 * pixels + i] = packed[3 * i + 2];
}

static void merge_one(global const uchar *planes, global uchar *packed, const uint pixels, const uint i)
{
    packed[3 * i] = planes[i];
    packed[3 * i + 1] = planes[pixels + i];
    packed[3 * i + 2] = planes[2 * pixels + i];
}

// One pixel a work-item: six accesses for six bytes.
kernel void split_scalar(global const uchar *packed, global uchar *planes, const uint pixels)
{
    const uint i = get_global_id(0);
    if (i < pixels)
        split_one(packed, planes, pixels, i);
}

// 16 pixels a work-item: 48 bytes are three vectors on either side, and six accesses move 96 bytes. What is
// between is swizzles, known at compile time. Every third byte is of one colour, and since 16 = 3 * 5 + 1, each
// vector begins one colour later than the one before: r, b, g.
kernel void split_16(global const uchar *packed, global uchar *planes, const uint pixels)
{
    const uint i = 16 * (uint)get_global_id(0);
    if (i >= pixels)
        return;
    if (i + 16 > pixels) {
        for (uint j = i; j < pixels; ++j)
            split_one(packed, planes, pixels, j);
        return;
    }
    const uchar16 a = vload16(0, packed + 3 * i);
    const uchar16 b = vload16(0, packed + 3 * i + 16);
    const uchar16 c = vload16(0, packed + 3 * i + 32);
    vstore16((uchar16)(a.s0369, a.scf, b.s258b, b.se, c.s147a, c.sd), 0, planes + i);
    vstore16((uchar16)(a.s147a, a.sd, b.s0369, b.scf, c.s258b, c.se), 0, planes + pixels + i);
    vstore16((uchar16)(a.s258b, a.se, b.s147a, b.sd, c.s0369, c.scf), 0, planes + 2 * pixels + i);
}

// One pixel a work-item.
kernel void merge_scalar(global const uchar *planes, global uchar *packed, const uint pixels)
{
    const uint i = get_global_id(0);
    if (i < pixels)
        merge_one(planes, packed, pixels, i);
}

// 16 pixels a work-item. A swizzle picks from one vector only, so the way back names every byte.
kernel void merge_16(global const uchar *planes, global uchar *packed, const uint pixels)
{
    const uint i = 16 * (uint)get_global_id(0);
    if (i >= pixels)
        return;
    if (i + 16 > pixels) {
        for (uint j = i; j < pixels; ++j)
            merge_one(planes, packed, pixels, j);
        return;
    }
    const uchar16 r = vload16(0, planes + i);
    const uchar16 g = vload16(0, planes + pixels + i);
    const uchar16 b = vload16(0, planes + 2 * pixels + i);
    vstore16((uchar16)(r.s0, g.s0, b.s0, r.s1, g.s1, b.s1, r.s2, g.s2, b.s2, r.s3, g.s3, b.s3, r.s4, g.s4, b.s4,
                       r.s5),
             0, packed + 3 * i);
    vstore16((uchar16)(g.s5, b.s5, r.s6, g.s6, b.s6, r.s7, g.s7, b.s7, r.s8, g.s8, b.s8, r.s9, g.s9, b.s9, r.sa,
                       g.sa),
             0, packed + 3 * i + 16);
    vstore16((uchar16)(b.sa, r.sb, g.sb, b.sb, r.sc, g.sc, b.sc, r.sd, g.sd, b.sd, r.se, g.se, b.se, r.sf, g.sf,
                       b.sf),
             0, packed + 3 * i + 32);
}
