// Every conversion: all pairs of types, rounding modes, saturation, at some widths.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define ONE(FROM, TO) \
    kernel void FROM##_to_##TO(global const FROM *a, global TO *b, global const FROM##4 *a4, global TO##4 *b4, \
                               global const FROM##16 *a16, global TO##16 *b16) { \
        size_t i = get_global_id(0); \
        b[i * 6] = convert_##TO(a[i]); \
        b[i * 6 + 1] = convert_##TO##_rte(a[i]); \
        b[i * 6 + 2] = convert_##TO##_rtz(a[i]); \
        b[i * 6 + 3] = convert_##TO##_rtp(a[i]); \
        b[i * 6 + 4] = convert_##TO##_rtn(a[i]); \
        b[i * 6 + 5] = (TO)a[i]; \
        b4[i] = convert_##TO##4(a4[i]); \
        b16[i] = convert_##TO##16_rtz(a16[i]); \
    }
#define SATURATE(FROM, TO) \
    kernel void FROM##_sat_##TO(global const FROM *a, global TO *b, global const FROM##8 *a8, global TO##8 *b8) { \
        size_t i = get_global_id(0); \
        b[i * 2] = convert_##TO##_sat(a[i]); \
        b[i * 2 + 1] = convert_##TO##_sat_rte(a[i]); \
        b8[i] = convert_##TO##8_sat(a8[i]); \
    }
#define FROM(T) \
    ONE(T, char) ONE(T, uchar) ONE(T, short) ONE(T, ushort) ONE(T, int) ONE(T, uint) ONE(T, long) ONE(T, ulong) \
    ONE(T, half) ONE(T, float) ONE(T, double) \
    SATURATE(T, char) SATURATE(T, uchar) SATURATE(T, short) SATURATE(T, ushort) SATURATE(T, int) SATURATE(T, uint) \
    SATURATE(T, long) SATURATE(T, ulong)
FROM(char) FROM(uchar) FROM(short) FROM(ushort) FROM(int) FROM(uint) FROM(long) FROM(ulong)
FROM(half) FROM(float) FROM(double)
