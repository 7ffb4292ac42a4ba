// on: Mali-T760, Mali-G52, Mali-G77, Adreno 640

kernel void slow(global const int *in, global int *total)
{
    atomic_add(total, in[get_global_id(0)]); // here
}

// Surplus work-items go home, the rest meet.
kernel void slow_guarded(global const int *in, global int *most, int n)
{
    if (get_global_id(0) < n)
        atomic_max(most + 3, in[get_global_id(0)]); // here
}

// One of a group.
kernel void quick(global const int *in, global int *total)
{
    local int sums[64];
    const int l = get_local_id(0);
    sums[l] = in[get_global_id(0)];
    for (int step = 32; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step)
            sums[l] += sums[l + step];
    }
    if (l == 0)
        atomic_add(total, sums[0]);
}

// A histogram: most work-items have cells of their own.
kernel void quick_histogram(global const uchar *in, global int *counts)
{
    atomic_inc(counts + in[get_global_id(0)]);
}

// Each its own.
kernel void quick_own(global const int *in, global int *out)
{
    atomic_add(out + get_global_id(0), in[get_global_id(0)]);
}

// Those few that find something.
kernel void quick_found(global const int *in, global int *count)
{
    if (in[get_global_id(0)] > 100)
        atomic_inc(count);
}
