// Many elements to one number, in two launches. In the first, each work-item walks through its share with steps of the global size, so
// that neighbours load neighbouring elements; a work-group then halves its work-items' results in local memory until one
// is left. The second does the same with the work-groups' results, in one group. No atomics: the order of all
// sums is fixed by the sizes, and the result is the same each time.

#define SUM 0
#define DOT 1
#define LEAST 2 // with the index of the first
#define MOST 3
#ifndef OPERATION
#define OPERATION SUM
#endif
// Element type; half is loaded into float. ACCUMULATOR: ulong for sums of integers, which are exact, int or uint for their extremes,
// float otherwise. START: what an empty share gives.
#ifndef ELEMENT
#define ELEMENT float
#define HALF 0
#define ACCUMULATOR float
#define START 0
#endif
// Work-items of a group, a power of two.
#ifndef GROUP
#define GROUP 64
#endif

#if HALF
#define LOAD(at) vload_half(0, at)
#else
#define LOAD(at) (ACCUMULATOR)*(at)
#endif
#define WITH_INDEX (OPERATION == LEAST || OPERATION == MOST)

typedef struct {
    ACCUMULATOR value;
    uint index;
} Found;

// Of equals, the first.
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

// Where element i lies, counted along the first direction first: of `place` the first element and the distances, of `extents` how many there are
// in each direction, and in all.
static uint lies_at(const uint4 place, const uint4 extents, const uint i)
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
        Found next = { LOAD(x + lies_at(x_place, extents, i)), i };
#if OPERATION == DOT
        next.value *= LOAD(y + lies_at(y_place, extents, i));
#endif
        own = joined(own, next);
    }
    const Found found = of_group(own, shared);
    if (get_local_id(0) == 0) {
        values[get_group_id(0)] = found.value;
        indices[get_group_id(0)] = found.index;
    }
}

// `result`: the value, and behind it the index where there is one.
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
