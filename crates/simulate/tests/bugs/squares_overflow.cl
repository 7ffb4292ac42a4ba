// Squares of numbers that are too large for an int.

kernel void squares_overflow(global const int *in, global int *out)
{
    const size_t i = get_global_id(0);
    out[i] = in[i] * in[i]; //~ WARNING signed-overflow
}

// Wrapping is meant: unsigned.
kernel void squares_overflow_ok(global const int *in, global int *out)
{
    const size_t i = get_global_id(0);
    const uint x = as_uint(in[i]);
    out[i] = as_int(x * x);
}
