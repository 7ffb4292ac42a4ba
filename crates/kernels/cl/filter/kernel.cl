// filter_window: a work-item computes LANES elements of ROWS rows.
//
// Work-items inside the image and those at its edges call the same function with another constant: the compiler makes
// two bodies of it, and the inner one has no test. ONE_BODY: 1 when the code is too large for two.

#ifndef ONE_BODY
#define ONE_BODY 0
#endif

#if LOADS == IMAGE
#define IMAGE_PARAMETERS , read_only image2d_t texels, const int first_texel, const int first_row, const int plane_rows
#else
#define IMAGE_PARAMETERS
#endif

// Dimension 0 runs along the row, so that neighbours in a warp load neighbouring addresses; 1 runs down the image,
// ROWS at a time; 2 over planes. Sizes are rounded up to whole work-groups. Pitches and offsets are in elements. Of
// an image, the texel and row of the first element and the rows from plane to plane are arguments.
kernel void filter_window(global const FROM *source, global STORED *result, const uint from_offset,
                          const uint from_pitch, const uint from_plane, const uint to_offset, const uint to_pitch,
                          const uint to_plane, const int width, const int height IMAGE_PARAMETERS)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) * ROWS;
    const uint plane = get_global_id(2);
    if (x >= width * STEP || y >= height)
        return;
    source += from_offset + plane * from_plane;
    result += to_offset + plane * to_plane;
#if LOADS == IMAGE
    const int2 origin = (int2)(first_texel, first_row + (int)plane * plane_rows);
#endif
    bool inside = is_inside(x, width);
#if INNER
    inside &= (y >= RADIUS_Y + INNER_RADIUS_Y) & (y <= height - ROWS - RADIUS_Y - INNER_RADIUS_Y);
#endif
#if ONE_BODY
    filter(SAME_SOURCE, result, from_pitch, to_pitch, x, y, width, height, inside);
#else
    if (inside)
        filter(SAME_SOURCE, result, from_pitch, to_pitch, x, y, width, height, true);
    else
        filter(SAME_SOURCE, result, from_pitch, to_pitch, x, y, width, height, false);
#endif
}
