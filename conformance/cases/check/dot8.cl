// INT8 throughput: plain char4 products vs the dot-product extension (OpenCL-Benchmark #26)
int dp_plain(char4 a, char4 b, int c) { return c + a.x*b.x + a.y*b.y + a.z*b.z + a.w*b.w; }
kernel void int8_plain(global int *out)
{
    int x = get_global_id(0), y = get_local_id(0);
    for (uint i = 0; i < 512; i++) { x = dp_plain(as_char4(y), as_char4(x), y);
        y = dp_plain(as_char4(x), as_char4(y), x); }
    out[get_global_id(0)] = y;
}
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_accumulate_int8 : enable
kernel void int8_dot(global int *out)
{
    int x = get_global_id(0), y = get_local_id(0);
    for (uint i = 0; i < 512; i++) { x = arm_dot_acc(as_char4(y), as_char4(x), y);
        y = arm_dot_acc(as_char4(x), as_char4(y), x); }
    out[get_global_id(0)] = y;
}
kernel void int8_khr(global int *out)
{
    int x = get_global_id(0), y = get_local_id(0);
    for (uint i = 0; i < 512; i++) { x = dot_4x8packed_ss_int(y, x) + y; y = dot_4x8packed_ss_int(x, y) + x; }
    out[get_global_id(0)] = y;
}
