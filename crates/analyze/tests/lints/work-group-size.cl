// on: Mali-T604, Mali-G71, Adreno 640
// launch slow: global=479,1080
// launch slow_named: global=1920,1080 local=64,1
// launch quick_required: global=1920,1080
// launch quick_grouped: global=1920,1080 local=8,8
// launch quick_local: global=1920 local=64
// launch quick_one: global=1

// A model of time says which size is the fastest, and whether it gains.
kernel void slow(global float *data) { data[get_global_id(1) * 479 + get_global_id(0)] *= 2; }
kernel void slow_named(global float *data) { data[get_global_id(1) * get_global_size(0) + get_global_id(0)] *= 2; }

kernel __attribute__((reqd_work_group_size(8, 8, 1))) void quick_required(global float *data)
{
    data[get_global_id(1) * 1920 + get_global_id(0)] *= 2;
}

// The group decides what they compute.
kernel void quick_grouped(global float *data)
{
    data[get_global_id(1) * 1920 + get_global_id(0)] *= get_group_id(0);
}
kernel void quick_local(global float *data, local float *shared)
{
    shared[get_local_id(0)] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = shared[63 - get_local_id(0)];
}

// No other size fits, or no size is known.
kernel void quick_one(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_unknown(global float *data) { data[get_global_id(0)] *= 2; }
