// Many elements to one number, in two launches.
//
// In the first launch, each work-item walks through its share with steps of the global size, so that neighbours load
// neighbouring elements; then a work-group halves the number of its results in local memory until one is left. The
// second launch does the same with the results of the work-groups, in one group. No atomics: the order of all sums is
// fixed by the sizes, and the result is the same each time.
//
// OPERATION:   SUM, DOT, or LEAST and MOST with the index of the first.
// ACCUMULATOR: ulong for sums of integers, which are exact; int or uint for their extremes; float otherwise.
// SPLIT:       1 for sums of products of int and 2 for those of uint, which ulong does not hold: ACCUMULATOR is ulong2,
//              the sum of the lower halves of the products, and that of the upper ones.
// START:       the result of an empty share. GROUP: work-items of a group, a power of two.

#define SUM 0
#define DOT 1
#define LEAST 2
#define MOST 3
#ifndef OPERATION
#define OPERATION SUM
#endif
#ifndef ACCUMULATOR
#define ACCUMULATOR float
#define START 0
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef GROUP
#define GROUP 64
#endif

#define LOAD(at) (ACCUMULATOR)GET(at)
#define WITH_INDEX (OPERATION == LEAST || OPERATION == MOST)

typedef struct {
    ACCUMULATOR value;
    uint index;
} Found;

// Of equal values, the first.
static Found joined(const Found a, const Found b)
{
    Found both = a;
#if OPERATION == SUM || OPERATION == DOT
    both.value += b.value;
#else
#if OPERATION == LEAST
    const bool better = b.value < a.value;
#else
    const bool better = b.value > a.value;
#endif
    if (better || (b.value == a.value && b.index < a.index))
        both = b;
#endif
    return both;
}

static Found of_group(const Found own, local Found *shared)
{
    const uint item = get_local_id(0);
    shared[item] = own;
    for (uint reach = GROUP / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < reach)
            shared[item] = joined(shared[item], shared[item + reach]);
    }
    return shared[0];
}

// The offset of element i, counted along the first direction first. `place` is the offset of the first element and
// the distance in each direction; `extents` the number of elements in each direction and in all.
static uint offset_of(const uint4 place, const uint4 extents, const uint i)
{
    if (extents.x == extents.w)
        return place.x + i * place.y;
    const uint rows = i / extents.x;
    return place.x + i % extents.x * place.y + rows % extents.y * place.z + rows / extents.y * place.w;
}

kernel void reduce_groups(global const ELEMENT *x, const uint4 x_place, global const ELEMENT *y, const uint4 y_place,
                          const uint4 extents, global ACCUMULATOR *values, global uint *indices)
{
    local Found shared[GROUP];
    Found own = { START, UINT_MAX };
    for (uint i = get_global_id(0); i < extents.w; i += get_global_size(0)) {
#if SPLIT
        const ulong product =
            (ulong)GET(x + offset_of(x_place, extents, i)) * (ulong)GET(y + offset_of(y_place, extents, i));
        const ulong upper = SPLIT == 1 ? as_ulong(as_long(product) >> 32) : product >> 32;
        Found next = { (ulong2)(product & UINT_MAX, upper), i };
#else
        Found next = { LOAD(x + offset_of(x_place, extents, i)), i };
#if OPERATION == DOT
        next.value *= LOAD(y + offset_of(y_place, extents, i));
#endif
#endif
        own = joined(own, next);
    }
    const Found found = of_group(own, shared);
    if (get_local_id(0) == 0) {
        values[get_group_id(0)] = found.value;
        indices[get_group_id(0)] = found.index;
    }
}

// `result`: the value, followed by the index if there is one.
kernel void reduce_all(global const ACCUMULATOR *values, global const uint *indices, global ACCUMULATOR *result,
                       const uint groups)
{
    local Found shared[GROUP];
    Found own = { START, UINT_MAX };
    for (uint i = get_local_id(0); i < groups; i += GROUP) {
        const Found next = { values[i], indices[i] };
        own = joined(own, next);
    }
    const Found found = of_group(own, shared);
    if (get_local_id(0) == 0) {
        result[0] = found.value;
#if WITH_INDEX
        ((global uint *)result)[1] = found.index;
#endif
    }
}
