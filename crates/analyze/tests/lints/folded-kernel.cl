// on: Mali-T604, Mali-G52, Mali-G77, Adreno 640

kernel void slow(global const float *data, float factor)
{
    const float x = data[get_global_id(0)] * factor;
}

kernel void quick(global float *data, float factor)
{
    data[get_global_id(0)] *= factor;
}

// What is written need not be computed.
kernel void quick_fill(global float *data)
{
    data[get_global_id(0)] = 0;
}
