// on: Mali-T760, Mali-G52, Mali-G77, Mali-G715, Adreno 640
// gain within: 0.1

// The branch around a loop that may have no rounds at all goes as well, which is not promised.

// As many rounds as are assumed of a loop that nobody knows.
#ifndef ROUNDS
#define ROUNDS 16
#endif

kernel void slow(global float *data, float gain, float offset, int rounds)
{
    float x = data[get_global_id(0)];
    for (int round = 0; round < rounds; ++round) // here
        x = mad(x, gain, offset);
    data[get_global_id(0)] = x;
}

kernel void quick(global float *data, float gain, float offset)
{
    float x = data[get_global_id(0)];
    for (int round = 0; round < ROUNDS; ++round)
        x = mad(x, gain, offset);
    data[get_global_id(0)] = x;
}

// Beside so much work counting is nothing.
kernel void quick_busy(global float *data, float gain, float offset, int rounds)
{
    float x = data[get_global_id(0)];
    for (int round = 0; round < rounds; ++round)
        for (int step = 0; step < 64; ++step)
            x = mad(x, mad(x, gain, offset), offset);
    data[get_global_id(0)] = x;
}

// How many rounds there are, each work-item finds in memory.
kernel void quick_loaded(global float *data, global const int *rounds, float gain, float offset)
{
    float x = data[get_global_id(0)];
    const int most = rounds[get_global_id(0)];
    for (int round = 0; round < most; ++round)
        x = mad(x, gain, offset);
    data[get_global_id(0)] = x;
}

// The rounds are as many as there are work-items: no number for a program.
kernel void quick_sized(global float *data, float gain, float offset)
{
    float x = data[get_global_id(0)];
    for (size_t round = 0; round < get_global_size(0); ++round)
        x = mad(x, gain, offset);
    data[get_global_id(0)] = x;
}
