// the idiom of llama.cpp: the vendor's macro chooses the path
#ifdef cl_qcom_reqd_sub_group_size
#pragma OPENCL EXTENSION cl_qcom_reqd_sub_group_size : enable
#define PATH 128                /* Adreno: a sub-group of 128, no local memory */
#define REQD __attribute__((qcom_reqd_sub_group_size("full")))
#else
#define PATH 16                 /* any other GPU: local memory */
#define REQD
#endif
REQD kernel void vendor_path(global const float *a, global float *o)
{
#if PATH == 128
    float s = sub_group_reduce_add(a[get_global_id(0)]);
    if (get_sub_group_local_id() == 0) o[get_group_id(0)] = s;
#else
    local float t[64];
    t[get_local_id(0)] = a[get_global_id(0)];
    for (int n = 32; n; n /= 2) { barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) < n) t[get_local_id(0)] += t[get_local_id(0) + n]; }
    if (get_local_id(0) == 0) o[get_group_id(0)] = t[0];
#endif
}
