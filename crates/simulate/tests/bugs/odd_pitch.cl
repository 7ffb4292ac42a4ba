// Rows of whole float4, if the pitch is a multiple of four.
kernel void odd_pitch(global const float *in, global float *out, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    global const float4 *row = (global const float4 *)(in + y * pitch);
    float4 v = row[x]; //~ ERROR misaligned-access
    out[y * get_global_size(0) + x] = dot(v, v);
}
