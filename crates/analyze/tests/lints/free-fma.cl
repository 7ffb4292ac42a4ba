// on: Mali-G76, Mali-G77, Mali-G715, Adreno 640
// not on: Mali-T760

kernel void slow(float gain, float decay, int rounds, global float *out)
{
    float x = out[get_global_id(0)];
    for (int round = 0; round < rounds; ++round)
        for (int step = 0; step < 8; ++step) {
            const float scaled = x * gain;
            x = decay + scaled; // here
        }
    out[get_global_id(0)] = x;
}

kernel void quick(float gain, float decay, int rounds, global float *out)
{
    float x = out[get_global_id(0)];
    for (int round = 0; round < rounds; ++round)
        for (int step = 0; step < 8; ++step)
            x = x * gain + decay;
    out[get_global_id(0)] = x;
}

// Signs are free.
kernel void slow_vector(float4 gain, float4 decay, int rounds, global float4 *out)
{
    float4 x = out[get_global_id(0)];
    for (int round = 0; round < rounds; ++round)
        for (int step = 0; step < 8; ++step) {
            const float4 scaled = x * gain;
            x = decay - scaled; // here
        }
    out[get_global_id(0)] = x;
}

kernel void quick_vector(float4 gain, float4 decay, int rounds, global float4 *out)
{
    float4 x = out[get_global_id(0)];
    for (int round = 0; round < rounds; ++round)
        for (int step = 0; step < 8; ++step)
            x = mad(-x, gain, decay);
    out[get_global_id(0)] = x;
}

// The product is needed for itself as well.
kernel void quick_shared(float gain, int rounds, global float *out)
{
    float x = out[get_global_id(0)], all = 0;
    for (int round = 0; round < rounds; ++round) {
        const float scaled = x * gain;
        x = x + scaled;
        all = max(all, scaled);
    }
    out[get_global_id(0)] = x + all;
}

// The product is the same for all and computed once.
kernel void quick_uniform(float gain, float decay, int rounds, global float *out)
{
    float x = out[get_global_id(0)];
    const float both = gain * decay;
    for (int round = 0; round < rounds; ++round)
        x = fabs(x + both);
    out[get_global_id(0)] = x;
}

// Integers have no fused instruction to gain from.
kernel void quick_integers(int gain, int decay, int rounds, global int *out)
{
    int x = out[get_global_id(0)];
    for (int round = 0; round < rounds; ++round) {
        const int scaled = x * gain;
        x = scaled + decay;
    }
    out[get_global_id(0)] = x;
}
