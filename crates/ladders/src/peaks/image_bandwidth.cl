// The bandwidth of reading an image through the texture unit: each work-item reads PER_ITEM texels of four
// channels down a column, neighbours along x read neighbouring texels.
//
// PER_ITEM: texels a work-item reads.

#ifndef PER_ITEM
#define PER_ITEM 8
#endif

// Global size: image width x image height / PER_ITEM. One sum a work-item, exact: the channels hold small whole
// numbers, or 0 and 255 that are read as 0 and 1.
kernel void image_bandwidth(read_only image2d_t image, global float *sums)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    const int apart = get_global_size(1);
    float4 sum = 0;
#pragma unroll
    for (int j = 0; j < PER_ITEM; ++j)
        sum += read_imagef(image, (int2)(x, j * apart + y));
    sums[y * (int)get_global_size(0) + x] = sum.s0 + sum.s1 + sum.s2 + sum.s3;
}
