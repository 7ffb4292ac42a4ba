// The transpose of a matrix of float through local memory: a work-group reads a tile along the rows of the
// source and writes it along the rows of the destination; the jump happens in between, in local memory.
//
// The classic of desktop GPUs, where local memory is on the chip and takes any pattern at full speed, and
// the one thing not to carry over to a Mali: there local memory is ordinary memory behind the same
// cache, so every element is loaded and stored twice, with a barrier between. On Mali take the blocks
// in registers.
//
// TILE: the work-group is TILE x TILE work-items.

#ifndef TILE
#define TILE 16
#endif

// Global size: width x height, each rounded up to whole tiles. Work-items outside the matrix move nothing but
// still reach the barrier.
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
transpose_local_tile(global const float *source, global float *destination, const uint width, const uint height)
{
    // One column more than needed: walking down a column then changes the memory bank at every step.
    local float tile[TILE][TILE + 1];
    const uint local_x = get_local_id(0);
    const uint local_y = get_local_id(1);
    const uint first_x = get_group_id(0) * TILE;
    const uint first_y = get_group_id(1) * TILE;
    if (first_x + local_x < width && first_y + local_y < height)
        tile[local_y][local_x] = source[(first_y + local_y) * width + first_x + local_x];
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint x = first_x + local_y;
    const uint y = first_y + local_x;
    if (x < width && y < height)
        destination[x * height + y] = tile[local_x][local_y];
}
