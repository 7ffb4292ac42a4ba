// on: Mali-T760, Mali-G52, Mali-G77, Mali-G715, Adreno 640
// on slow_counter: Mali-G52, Mali-G77, Mali-G715, Adreno 640
// gain within: 0.09

// A pattern of the place alone.
kernel void slow(global uint *out, int width)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    const size_t cell = (x / 24 + y / 24) * 7 + (x & 3) * (y & 5); // here
    out[y * width + x] = cell;
}

kernel void quick(global uint *out, int width)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int cell = (x / 24 + y / 24) * 7 + (x & 3) * (y & 5);
    out[y * width + x] = cell;
}

// Both take all bits of what is multiplied.
kernel void quick_hash(global const ulong *in, global ulong *out)
{
    const int i = get_global_id(0);
    ulong hash = in[i];
    for (int round = 0; round < 16; ++round)
        hash = (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9UL;
    out[i] = hash;
}

// A sum that outgrows 32 bits.
kernel void quick_sum(global const uint *in, global ulong *out, int count)
{
    const int i = get_global_id(0);
    ulong sum = 0;
    for (int k = 0; k < count; ++k)
        sum += in[i * count + k];
    out[i] = sum;
}

// An index in 32 bits, widened by the address.
kernel void quick_address(global const float *in, global float *out, int width)
{
    const int at = get_global_id(1) * width + get_global_id(0);
    out[at] = in[at] + in[at + width] + in[at + 2 * width];
}

// The remainder is small; what it is of needs all 64 bits.
kernel void quick_remainder(global const uint *in, global uint *out, ulong seed)
{
    const int i = get_global_id(0);
    ulong state = in[i] + seed;
    uint sum = 0;
    for (int round = 0; round < 16; ++round) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        sum += (uint)(state % 1000);
    }
    out[i] = sum;
}

// A counter of 64 bits that runs to a number of 32. (On Midgard the same words have room for either.)
kernel void slow_counter(global uint *out, uint count)
{
    const size_t x = get_global_id(0);
    uint sum = 0;
    for (size_t k = 0; k < count; ++k) // here
        sum = max(sum, (uint)(k + (x & 255)));
    out[x] = sum;
}

kernel void quick_counter(global uint *out, uint count)
{
    const uint x = get_global_id(0);
    uint sum = 0;
    for (uint k = 0; k < count; ++k)
        sum = max(sum, k + (x & 255));
    out[x] = sum;
}

// Nothing but an index, whatever the arguments are.
kernel void slow_index(global const float *in, global float *out, int width)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    size_t at = x;
    for (int level = 0; level < 24; ++level)
        at = at * width + y; // here
    out[x] = in[at];
}

kernel void quick_index(global const float *in, global float *out, int width)
{
    const int x = get_global_id(0), y = get_global_id(1);
    int at = x;
    for (int level = 0; level < 24; ++level)
        at = at * width + y;
    out[x] = in[at];
}

// The same, and its high bits count.
kernel void quick_half_index(global const float *in, global float *out, int width)
{
    const size_t x = get_global_id(0), y = get_global_id(1);
    size_t at = x;
    for (int level = 0; level < 24; ++level)
        at = at * width + y;
    out[x] = in[at >> 33];
}
