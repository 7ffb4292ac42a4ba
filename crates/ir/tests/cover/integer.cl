// Every integer function and operator, at all widths and signs.
// options: -cl-std=CL2.0
#define INTEGER(T, U) \
    kernel void integer_##T(global T *a, global U *out) { \
        size_t i = get_global_id(0); \
        T x = a[i], y = a[i + 1], z = a[i + 2]; \
        U u = abs(x) + abs_diff(x, y); \
        T r = add_sat(x, y) + hadd(x, y) + rhadd(x, y) + clamp(x, y, z) + clz(x) + ctz(x) + mad_hi(x, y, z); \
        r += mad_sat(x, y, z) + max(x, y) + min(x, y) + mul_hi(x, y) + rotate(x, y) + sub_sat(x, y) + popcount(x); \
        r += x + y - z * x / y % z; \
        r = (x << y) + (x >> y) + (r & x | y ^ z) + ~x + -y; \
        r += bitselect(x, y, z); \
        r += x++; r -= --y; r ^= z; \
        out[i] = u; a[i] = r; \
    }
#define WIDTHS(T, U) INTEGER(T, U) INTEGER(T##2, U##2) INTEGER(T##3, U##3) INTEGER(T##4, U##4) INTEGER(T##8, U##8) \
    INTEGER(T##16, U##16)
WIDTHS(char, uchar) WIDTHS(uchar, uchar) WIDTHS(short, ushort) WIDTHS(ushort, ushort)
WIDTHS(int, uint) WIDTHS(uint, uint) WIDTHS(long, ulong) WIDTHS(ulong, ulong)

#define WIDE(T, U, W) \
    kernel void wide_##T(global T *a, global U *b, global W *w) { w[0] = upsample(a[0], b[0]); }
WIDE(char, uchar, short) WIDE(uchar4, uchar4, ushort4) WIDE(short2, ushort2, int2) WIDE(uint, uint, ulong)
WIDE(int4, uint4, long4)

kernel void mul24s(global int4 *a, global uint *b) {
    a[0] = mad24(a[1], a[2], a[3]) + mul24(a[1], a[2]);
    b[0] = mad24(b[1], b[2], b[3]) + mul24(b[1], b[2]);
}

kernel void compare(global int4 *a, global long2 *b, global uchar16 *c, global int *s) {
    a[0] = (a[1] == a[2]) | (a[1] < a[2]) & !(a[1] >= a[3]) && a[4] || a[5];
    b[0] = b[1] != b[2] ? b[1] : b[2];
    c[0] = select(c[1], c[2], c[3] > (uchar)7);
    s[0] = s[1] && s[2] || !s[3] ? s[4] : s[5];
    s[1] = any(c[0] < c[1]) + all(a[0] < a[1]);
}
