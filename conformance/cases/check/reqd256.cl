// 64 sums per work-item in groups of 256: ran on an Adreno 530 in 3.6 ms (boda #13); refused here
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void reqd256(global const float8 *a, global float8 *o)
{
    float8 s[8]; int l = get_local_id(0);
    #pragma unroll
    for (int i = 0; i < 8; i++) s[i] = 0.0f;
    for (int k = 0; k < 512; k++) { float8 x = a[k * 64 + l % 16], y = a[k * 64 + l / 16];
        s[0] += x.s0 * y; s[1] += x.s1 * y; s[2] += x.s2 * y; s[3] += x.s3 * y; s[4] += x.s4 * y; s[5] += x.s5 * y;
            s[6] += x.s6 * y; s[7] += x.s7 * y; }
    #pragma unroll
    for (int i = 0; i < 8; i++) o[get_global_id(0) * 8 + i] = s[i];
}
