// The second pass of a product whose K was divided into parts.
//
// Dividing K pays when C has too few tiles to fill the device and K is long. The sums of parts are always added in the
// same order, so that the result does not depend on which part was finished first.
//
// A small C with many parts has too few elements to fill a device a second time: SHARED work-items then share a vector
// of C. Each adds up every SHARED-th part, and one adds these sums.
//
// SHARED:  work-items that share a vector of C, in the second dimension of a work-group; 1 for none.
// GROUP_X: vectors of C of a work-group.

#ifndef SHARED
#define SHARED 1
#endif
#ifndef GROUP_X
#define GROUP_X 8
#define GROUP_Y 8
#endif

// Global size: vectors of a row of C x rows times SHARED, rounded up to whole work-groups, x products.
kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void gemm_sum(global const TOTAL *parts, const uint count, const uint batches, RESULT_PARAMETERS)
{
    const uint column = get_global_id(0) * VECTOR;
    const uint row = get_global_id(1) / SHARED;
    const uint batch = get_global_id(2);
    totals_t sum = 0;
    if (row < m && column < n) {
        const int is_whole = column + VECTOR <= n;
        for (uint part = get_global_id(1) % SHARED; part < count; part += SHARED) {
            global const TOTAL *from = parts + ((size_t)(part * batches + batch) * m + row) * n + column;
            if (is_whole) {
                sum += JOIN(vload, VECTOR)(0, from);
                continue;
            }
#define SUM_LANE(l) \
    if (column + 0x##l < n) \
        sum.s##l += from[0x##l];
            EACH_LANE(SUM_LANE)
        }
    }
#if SHARED > 1
    local totals_t sums[GROUP_Y][GROUP_X];
    const uint x = get_local_id(0), y = get_local_id(1);
    sums[y][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (y % SHARED > 0)
        return;
    for (uint other = 1; other < SHARED; ++other)
        sum += sums[y + other][x];
#endif
    finish(sum, row, column, batch, RESULT_ARGUMENTS);
}
