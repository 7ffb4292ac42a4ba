// The transpose of a matrix of any elements.
//
// A work-group reads a tile along its rows and writes it along its columns, which are rows of the result: both access
// neighbouring addresses. The tile is turned in local memory; one more element in each row puts the elements of a
// column in different banks.
//
// ELEMENT: a type of the size of an element, whose bits are moved. TILE: rows and columns of a tile.

#ifndef ELEMENT
#define ELEMENT uint
#endif
#ifndef TILE
#define TILE 8
#endif

kernel void transpose_tiles(global const ELEMENT *source, global ELEMENT *result, const uint from_offset,
                            const uint from_pitch, const uint to_offset, const uint to_pitch, const uint columns,
                            const uint rows)
{
    local ELEMENT tile[TILE][TILE + 1];
    const uint across = get_local_id(0), down = get_local_id(1);
    const uint left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;
    if (left + across < columns && top + down < rows)
        tile[down][across] = source[from_offset + (top + down) * from_pitch + left + across];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left + down < columns && top + across < rows)
        result[to_offset + (left + down) * to_pitch + top + across] = tile[across][down];
}
