// A loop of two dependent multiply-adds, unrolled N times. TYPE: float, or half2 with HALF.
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
kernel void loop_of_two(global float *out)
{
#ifdef HALF
    TYPE x = (TYPE)((half)get_global_id(0)), y = (TYPE)((half)get_local_id(0));
#else
    TYPE x = (TYPE)get_global_id(0), y = (TYPE)get_local_id(0);
#endif
    #pragma unroll N
    for (uint i = 0; i < 512; ++i) {
        x = fma(y, x, y);
        y = fma(x, y, x);
    }
#ifdef HALF
    out[get_global_id(0)] = y.x + y.y;
#else
    out[get_global_id(0)] = y;
#endif
}
