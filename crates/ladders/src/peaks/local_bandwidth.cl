// The bandwidth of local memory: every work-item of a group of GROUP reads 16 bytes at a time from what the group
// has put there.
//
// On a Mali this is the bandwidth of the load/store unit to its first cache, as local memory is ordinary memory
// there.
//
// GROUP: work-items of a work-group, a power of two.

#ifndef GROUP
#define GROUP 64
#endif

// Element e holds (e, e + 1, e + 2, e + 3) % 8 in its lanes. The sums are whole numbers below 2^24, exact.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void local_bandwidth(global float *sums, const uint turns)
{
    local float4 shared[GROUP];
    const uint item = get_local_id(0);
    shared[item] = convert_float4(((uint4)(item) + (uint4)(0, 1, 2, 3)) % 8);
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 sum = 0;
    // The place to read from depends on the turn, or the load would be taken out of the loop.
    for (uint turn = 0; turn < turns; ++turn) {
        const uint first = item + turn;
        sum += shared[first % GROUP];
        sum += shared[(first + 1) % GROUP];
        sum += shared[(first + 2) % GROUP];
        sum += shared[(first + 5) % GROUP];
    }
    vstore4(sum, get_global_id(0), sums);
}
