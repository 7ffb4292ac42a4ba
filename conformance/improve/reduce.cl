// partial sums: each work-item adds a strided set of elements
kernel void reduce(global const float *data, global float *partial, int n)
{
    int gid = get_global_id(0);
    int total = get_global_size(0);
    float sum = 0.0f;
    for (int i = gid; i < n; i += total)
        sum += data[i];
    partial[gid] = sum;
}
