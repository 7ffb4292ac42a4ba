// The transpose of a matrix of any elements. A work-group reads a tile along its rows and writes it along its columns, which are the
// rows of the result: both touch neighbouring addresses. Local memory turns the tile; one element more a row keeps the
// columns of the tile in different banks.

// A type as large as an element: its bits are moved, whatever they mean.
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
