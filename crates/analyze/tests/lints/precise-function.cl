// on: Mali-T760

kernel void slow(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = y / x; // here
    data[get_global_id(0)] = x;
}

kernel void quick(global float *data, float y, int n)
{
    float x = data[get_global_id(0)];
    for (int i = 0; i < n; ++i)
        x = native_divide(y, x);
    data[get_global_id(0)] = x;
}
