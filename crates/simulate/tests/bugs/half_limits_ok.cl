// Up to the greatest half, through an infinity that came in as one, and down to an exact zero.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void half_limits_ok(
    global const half *a, global const half *b, global half *sums, global half *products) {
    int i = get_global_id(0);
    sums[i] = a[i] + b[i];
    products[i] = (a[i] - a[0]) * 0.5h;
}
