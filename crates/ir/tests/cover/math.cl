// Every function of the mathematics, common, geometric and relational groups, at all widths.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define MATH(T, I, L) \
    kernel void math_##T(global T *a, global I *n, global T *out, private T c) { \
        size_t i = get_global_id(0); \
        T x = a[i], y = a[i + 1], z = a[i + 2], r = x; \
        I k = n[i]; \
        r += acos(x) + acosh(x) + acospi(x) + asin(x) + asinh(x) + asinpi(x) + atan(x) + atan2(x, y) + atanh(x); \
        r += atanpi(x) + atan2pi(x, y) + cbrt(x) + ceil(x) + copysign(x, y) + cos(x) + cosh(x) + cospi(x); \
        r += erfc(x) + erf(x) + exp(x) + exp2(x) + exp10(x) + expm1(x) + fabs(x) + fdim(x, y) + floor(x); \
        r += fma(x, y, z) + fmax(x, y) + fmin(x, y) + fmod(x, y) + hypot(x, y) + ldexp(x, k) + lgamma(x); \
        r += log(x) + log2(x) + log10(x) + log1p(x) + logb(x) + mad(x, y, z) + maxmag(x, y) + minmag(x, y); \
        r += nextafter(x, y) + pow(x, y) + pown(x, k) + powr(x, y) + remainder(x, y) + rint(x) + rootn(x, k); \
        r += round(x) + rsqrt(x) + sin(x) + sinh(x) + sinpi(x) + sqrt(x) + tan(x) + tanh(x) + tanpi(x); \
        r += tgamma(x) + trunc(x) + x / y + x * y - z; \
        T p; I q; \
        r += fract(x, &p) + p; r += modf(x, &p) + p; r += sincos(x, &p) + p; \
        r += frexp(x, &q); k += q; r += lgamma_r(x, &q); k += q; r += remquo(x, y, &q); k += q + ilogb(x); \
        r += clamp(x, y, z) + degrees(x) + max(x, y) + min(x, y) + mix(x, y, z) + radians(x) + step(x, y); \
        r += smoothstep(x, y, z) + sign(x) + bitselect(x, y, z); \
        out[i] = r; n[i] = k; \
    }
MATH(float, int, int) MATH(float2, int2, int2) MATH(float3, int3, int3) MATH(float4, int4, int4)
MATH(float8, int8, int8) MATH(float16, int16, int16)
MATH(double, int, long) MATH(double4, int4, long4) MATH(half, int, short) MATH(half8, int8, short8)

#define GEOMETRIC(T, S) \
    kernel void geometric_##T(global T *a, global S *s) { \
        size_t i = get_global_id(0); \
        T x = a[i], y = a[i + 1]; \
        s[i] = dot(x, y) + distance(x, y) + length(x); \
        a[i] = normalize(x); \
    }
GEOMETRIC(float, float) GEOMETRIC(float2, float) GEOMETRIC(float3, float) GEOMETRIC(float4, float)
GEOMETRIC(double4, double) GEOMETRIC(half4, half)

kernel void geometric_more(global float4 *a, global float3 *b, global float *s) {
    a[0] = cross(a[1], a[2]);
    b[0] = cross(b[1], b[2]);
    s[0] = fast_distance(a[0], a[1]) + fast_length(a[2]);
    a[3] = fast_normalize(a[4]);
}

#define RELATIONAL(T, I) \
    kernel void relational_##T(global T *a, global I *out, global int *any_all) { \
        size_t i = get_global_id(0); \
        T x = a[i], y = a[i + 1]; \
        I r = isequal(x, y); \
        r += isnotequal(x, y); r += isgreater(x, y); r += isgreaterequal(x, y); r += isless(x, y); \
        r += islessequal(x, y); r += islessgreater(x, y); r += isfinite(x); r += isinf(x); r += isnan(x); \
        r += isnormal(x); r += isordered(x, y); r += isunordered(x, y); r += signbit(x); \
        r += x == y; r += x != y; r += x < y; r += !(x >= y); \
        out[i] = r; any_all[0] = any(r) + all(r); \
        a[i] = select(x, y, r); \
    }
RELATIONAL(float, int) RELATIONAL(float2, int2) RELATIONAL(float3, int3) RELATIONAL(float4, int4)
RELATIONAL(float16, int16) RELATIONAL(double2, long2) RELATIONAL(half4, short4)

#define QUICK(T) \
    kernel void quick_##T(global T *a) { \
        T x = a[0], y = a[1]; \
        T r = native_cos(x) + native_divide(x, y) + native_exp(x) + native_exp2(x) + native_exp10(x) + native_log(x); \
        r += native_log2(x) + native_log10(x) + native_powr(x, y) + native_recip(x) + native_rsqrt(x); \
        r += native_sin(x) + native_sqrt(x) + native_tan(x); \
        r += half_cos(x) + half_divide(x, y) + half_exp(x) + half_exp2(x) + half_exp10(x) + half_log(x); \
        r += half_log2(x) + half_log10(x) + half_powr(x, y) + half_recip(x) + half_rsqrt(x); \
        r += half_sin(x) + half_sqrt(x) + half_tan(x); \
        a[2] = r; \
    }
QUICK(float) QUICK(float3) QUICK(float8)

kernel void nans(global float4 *a, global uint4 *b, global double *c, global ulong *d) {
    a[0] = nan(b[0]);
    c[0] = nan(d[0]);
}
