// The second pass of a product whose K was divided into parts.
//
// Dividing K pays when C has too few tiles to fill the device and K is long. The parts of an element are added in
// order, so that the result does not depend on which part was finished first.
//
// Global size: vectors of a row of C x rows, rounded up to whole work-groups, x products.
kernel void gemm_sum(global const TOTAL *parts, const uint count, const uint batches, RESULT_PARAMETERS)
{
    const uint column = get_global_id(0) * VECTOR;
    const uint row = get_global_id(1);
    const uint batch = get_global_id(2);
    if (row >= m || column >= n)
        return;
    totals_t sum = 0;
    for (uint part = 0; part < count; ++part) {
        global const TOTAL *from = parts + ((size_t)(part * batches + batch) * m + row) * n + column;
#define SUM_LANE(l) \
    if (column + 0x##l < n) \
        sum.s##l += from[0x##l];
        EACH_LANE(SUM_LANE)
    }
    finish(sum, row, column, batch, RESULT_ARGUMENTS);
}
