// Loads, stores, vectors, shuffles, structs, unions, pointers to pointers, program-scope objects.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define VECTOR(T, N) \
    kernel void vector_##T##N(global T *g, local T *l, constant T *c, global T##N *out) { \
        size_t i = get_global_id(0); \
        T p[N * 2]; \
        vstore##N(vload##N(i, g) + vload##N(i, c), i, l); \
        vstore##N(vload##N(1, l), 0, p); \
        vstore##N(vload##N(i, p), i, g); \
        out[i] = vload##N(0, p + 1); \
    }
#define VECTORS(T) VECTOR(T, 2) VECTOR(T, 3) VECTOR(T, 4) VECTOR(T, 8) VECTOR(T, 16)
VECTORS(char) VECTORS(ushort) VECTORS(int) VECTORS(ulong) VECTORS(float) VECTORS(double) VECTORS(half)

#define HALVES(N, S) \
    kernel void halves##N(global half *h, local half *l, constant half *c, global float##S *f, global double##S *d) { \
        size_t i = get_global_id(0); \
        float##S x = vload_half##S(i, h) + vload_half##S(i, l) + vload_half##S(i, c) + f[i]; \
        vstore_half##S(x, i, h); vstore_half##S##_rte(x, i, h); vstore_half##S##_rtz(x, i, l); \
        vstore_half##S##_rtp(x, i, h); vstore_half##S##_rtn(x, i, h); \
        vstore_half##S(d[i], i, h); vstore_half##S##_rtz(d[i], i, h); \
        f[i] = x; \
    }
HALVES(1, ) HALVES(2, 2) HALVES(3, 3) HALVES(4, 4) HALVES(8, 8) HALVES(16, 16)
kernel void aligned_halves(global half *h, global float3 *f, global float4 *g) {
    f[0] = vloada_half3(1, h); vstorea_half3(f[1], 2, h); vstorea_half3_rtz(f[1], 2, h);
    g[0] = vloada_half4(1, h); vstorea_half4_rtp(g[1], 2, h);
}

kernel void shuffles(global float4 *a, global uint4 *m, global float8 *b, global uint8 *m8, global uchar16 *c) {
    a[0] = shuffle(b[0], m[0]);
    b[1] = shuffle2(a[1], a[2], m8[0]);
    a[3] = a[4].wzyx; a[3].xz = a[5].yw; a[6].hi = a[7].lo; a[8].s3 = a[9].even.x;
    c[0] = (uchar16)(c[1].lo, c[1].s048c, (uchar4)(1, 2, 3, 4));
    b[2] = (float8)(a[0], a[1]);
    b[3] = (float8)(2.0f);
}
kernel void lanes(global float4 *a, int i, global float *s) {
    float4 v = a[0];
    s[0] = v[i]; v[i] = 3.0f; v[2] += 1.0f;
    a[1] = v;
}

typedef struct { char a; int b; } __attribute__((packed)) Packed;
typedef struct { float4 v; short s[5]; char c; } Mixed;
typedef union { float f; uint u; uchar b[4]; } Pun;
typedef struct { Mixed m[2]; Pun p; Packed k; } Nested;

Mixed swapped(Mixed m) { Mixed r = m; r.s[0] = m.s[1]; r.v = m.v.wzyx; return r; }
kernel void structs(global Mixed *m, global Packed *p, Nested n, global Nested *out, int i) {
    m[i] = swapped(m[i + 1]);
    p[i].b = p[i + 1].b + n.k.b;
    Nested copy = n;
    copy.m[i].c = 1;
    out[i] = copy;
    out[i].m[1] = n.m[0];
}
kernel void unions(global float *a, global uint *b) {
    Pun p; p.f = a[0]; b[0] = p.u; p.b[1] = 7; a[1] = p.f;
    b[1] = as_uint(a[2]); a[3] = as_float(b[2]);
}
kernel void casts(global uchar4 *a, global int *b, global double2 *c, global float4 *d, global uchar3 *e, global int *f) {
    b[0] = as_int(a[0]); c[0] = as_double2(d[0]); e[0] = as_uchar3(b[1]);
    f[0] = *(global int *)(a + 1); f[1] = ((global short *)b)[3];
}

constant float weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
constant struct { int n; float4 v; char name[4]; } record = {7, (float4)(1, 2, 3, 4), "abc"};
constant char *constant names[] = {"one", "two"};
global int counter = 5;
global int *global where = &counter;
kernel void program_scope(global float *a, global char *s, int i) {
    a[0] = weights[i][2] + record.v.y + record.n;
    s[0] = names[i][1] + record.name[2];
    counter += 1; *where += 2;
}

kernel void pointers(global int *a, global int *b, int n) {
    int x[4] = {1, 2, 3, 4}, y[4];
    int *p[2] = {x, y};
    int **pp = p;
    for (int i = 0; i < 4; ++i) pp[n & 1][i] = a[i];
    global int *g = n > 3 ? a : b;
    *g = x[0] + y[3] + (int)(&x[3] - &x[1]);
    b[1] = (int)((ulong)a & 15) + (a == b) + (a < b);
    size_t d = b - a;
    b[2] = d;
    volatile global int *v = a;
    *v = *v + 1;
    prefetch(a, 16);
}
kernel void generic_space(global int *a, local int *l, int n) {
    int x = 3;
    int *p = n ? &x : (int *)a;
    *p = 5;
    int *q = n > 2 ? (int *)l : p;
    *q += to_global(p) ? 1 : 0;
    *q += to_local(q) != 0;
    a[1] = x;
}
