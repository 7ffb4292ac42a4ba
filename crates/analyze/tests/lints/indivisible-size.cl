// on: Mali-T604, Mali-G77, Adreno 640
// launch slow: global=2048,409
// launch slow_twice: global=818,1024
// launch quick_padded: global=2048,416
// launch quick_named: global=2048,409 local=64,1
// launch quick_line: global=2003
// launch quick_six: global=2046,1024

kernel void slow(global float *data, int width)
{
    data[(int)get_global_id(0) * width + (int)get_global_id(1)] *= 2;
}

// 818 = 2 * 409.
kernel void slow_twice(global float *data, int width)
{
    data[(int)get_global_id(1) * width + (int)get_global_id(0)] *= 2;
}

kernel void quick_padded(global float *data, int width)
{
    data[(int)get_global_id(0) * width + (int)get_global_id(1)] *= 2;
}

kernel void quick_named(global float *data, int width)
{
    data[(int)get_global_id(0) * width + (int)get_global_id(1)] *= 2;
}

// In one dimension every work-group is a row.
kernel void quick_line(global float *data) { data[get_global_id(0)] *= 2; }

// 2046 = 2 * 3 * 11 * 31 has the divisor 6.
kernel void quick_six(global float *data, int width)
{
    data[(int)get_global_id(1) * width + (int)get_global_id(0)] *= 2;
}
