#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Phong's shading of a map of normals, in halves, to bytes.
kernel void shade(global const half4 *normals, global uchar4 *out, int w, int h, float lx, float ly, float lz)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float4 n = convert_float4(normals[y * w + x]);
    float length = sqrt(n.x * n.x + n.y * n.y + n.z * n.z) + 0.001f;
    n = n / length;
    float diffuse = fmax(n.x * lx + n.y * ly + n.z * lz, 0.0f);
    float rz = 2.0f * diffuse * n.z - lz;
    float shine = fmax(rz, 0.0f);
    shine = shine * shine;
    shine = shine * shine;
    shine = shine * shine;
    float4 colour = (float4)(0.8f, 0.5f, 0.3f, 1.0f) * (0.1f + 0.7f * diffuse) + 0.3f * shine;
    out[y * w + x] = convert_uchar4_sat(colour * 255.0f);
}
