// The sum of many large samples in an int.

kernel void sum_overflow(global const int *in, global int *out, const int count)
{
    int sum = 0;
    for (int i = 0; i < count; ++i)
        sum += in[i]; //~ WARNING signed-overflow
    if (get_global_id(0) == 0)
        out[0] = sum / count;
}

kernel void sum_overflow_ok(global const int *in, global int *out, const int count)
{
    long sum = 0;
    for (int i = 0; i < count; ++i)
        sum += in[i];
    if (get_global_id(0) == 0)
        out[0] = (int)(sum / count);
}
