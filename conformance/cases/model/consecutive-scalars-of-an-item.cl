kernel void mw1(global float *d) { const uint n = get_global_id(0); for (uint i = 0; i < 16;
    ++i) d[n * 16 + i] = as_float(n); }
kernel void mw4(global float *d) { const uint n = get_global_id(0); for (uint i = 0; i < 4;
    ++i) vstore4((float4)as_float(n), n * 4 + i, d); }
kernel void mw16(global float *d) { const uint n = get_global_id(0); vstore16((float16)as_float(n), n, d); }
kernel void mr1(global const float *d, global float *o) { const uint n = get_global_id(0); float x = 0;
    for (uint i = 0; i < 16; ++i) x += d[n * 16 + i]; o[n] = x; }
kernel void mr4(global const float *d, global float *o) { const uint n = get_global_id(0); float4 x = 0;
    for (uint i = 0; i < 4; ++i) x += vload4(n * 4 + i, d); o[n] = x.x + x.y + x.z + x.w; }
