// on: Adreno 640, Adreno 740

// A row of a table by its number.
kernel void slow(global uchar *out, int pitch, int rows)
{
    const int x = get_global_id(0);
    int sum = 0;
    for (int row = 0; row < rows; ++row)
        sum ^= row * pitch + x; // here
    out[x] = sum;
}

kernel void quick(global uchar *out, int pitch, int rows)
{
    const int x = get_global_id(0);
    int sum = 0;
    for (int row = 0, at = x; row < rows; ++row, at += pitch)
        sum ^= at;
    out[x] = sum;
}

// Twelve bits by eight fit 24 bits.
kernel void slow_small(global uchar *out, int rounds)
{
    const int x = get_global_id(0);
    int sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = (sum & 4095) * (sum >> 24) + x; // here
    out[x] = sum;
}

kernel void quick_small(global uchar *out, int rounds)
{
    const int x = get_global_id(0);
    int sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = mad24(sum & 4095, sum >> 24, x);
    out[x] = sum;
}

#ifndef LEVELS
#define LEVELS 10
#endif

// Which of so many levels.
kernel void slow_levels(global uchar *out, uint levels, int rounds)
{
    const uint x = get_global_id(0);
    uint sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = sum * 5 % levels + x; // here
    out[x] = sum;
}

kernel void quick_levels(global uchar *out, uint levels, int rounds)
{
    const uint x = get_global_id(0);
    uint sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = sum * 5 % LEVELS + x;
    out[x] = sum;
}

// All 32 bits are needed.
kernel void quick_wide(global uint *out, int rounds)
{
    const uint x = get_global_id(0);
    uint state = x;
    for (int round = 0; round < rounds; ++round)
        state = state * 747796405u + x;
    out[x] = state;
}

// A power of two is a shift already.
kernel void quick_power_of_two(global uchar *out, int rounds)
{
    const int x = get_global_id(0);
    int sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = (sum & 4095) * 64 / 16 + (round * 32 ^ x);
    out[x] = sum;
}

// Divided once, ahead of the launch.
kernel void quick_uniform(global uchar *out, uint levels, uint all, int rounds)
{
    const uint x = get_global_id(0);
    uint sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = (sum ^ all / levels) + x;
    out[x] = sum;
}

// No two work-items divide by the same.
kernel void quick_varying(global const uint *in, global uint *out, int rounds)
{
    const uint x = get_global_id(0);
    const uint divisor = in[x];
    uint sum = x;
    for (int round = 0; round < rounds; ++round)
        sum = (sum ^ x) / divisor + x;
    out[x] = sum;
}
