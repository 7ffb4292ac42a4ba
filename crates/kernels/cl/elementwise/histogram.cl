// How often each value occurs, in two launches.
//
// Each work-group counts its rows in local memory, where an atomic increment costs a fraction of one in global memory;
// then one work-item for each bin adds the counts of the groups.
//
// ELEMENT: an unsigned integer type. SHIFT: leaves its upper 8 bits. GROUP: work-items of a group.

#ifndef ELEMENT
#define ELEMENT uchar
#define SHIFT 0
#endif
#ifndef GROUP
#define GROUP 64
#endif
#define BINS 256

kernel void histogram_groups(global const ELEMENT *source, global uint *counts, const uint offset, const uint pitch,
                             const uint plane, const uint elements, const uint rows, const uint planes)
{
    local uint bins[BINS];
    for (uint bin = get_local_id(0); bin < BINS; bin += GROUP)
        bins[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint row = get_group_id(0); row < rows * planes; row += get_num_groups(0)) {
        global const ELEMENT *at = source + (offset + row / rows * plane + row % rows * pitch);
        for (uint i = get_local_id(0); i < elements; i += GROUP)
            atomic_inc(&bins[at[i] >> SHIFT]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = get_local_id(0); bin < BINS; bin += GROUP)
        counts[get_group_id(0) * BINS + bin] = bins[bin];
}

kernel void histogram_all(global const uint *counts, global uint *result, const uint groups)
{
    const uint bin = get_global_id(0);
    uint sum = 0;
    for (uint group = 0; group < groups; ++group)
        sum += counts[group * BINS + bin];
    result[bin] = sum;
}
