// Own words: the kinds of loops that clpeak runs.
#ifdef FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define JJ(a,b) a##b
#define J(a,b) JJ(a,b)
#if W==1
#define V T
#define S(v) (v)
#elif W==2
#define V J(T,2)
#define S(v) ((v).s0+(v).s1)
#elif W==4
#define V J(T,4)
#define S(v) ((v).s0+(v).s1+(v).s2+(v).s3)
#elif W==8
#define V J(T,8)
#define S(v) ((v).s0+(v).s1+(v).s2+(v).s3+(v).s4+(v).s5+(v).s6+(v).s7)
#else
#define V J(T,16)
#define S(v) ((v).s0+(v).s1+(v).s2+(v).s3+(v).s4+(v).s5+(v).s6+(v).s7+(v).s8+(v).s9+(v).sa+(v).sb+(v).sc+(v).sd+ \
    (v).se+(v).sf)
#endif
#if W==1
#define LANES a
#elif W==2
#define LANES (V)(a,a+(T)1)
#elif W==4
#define LANES (V)(a,a+(T)1,a+(T)2,a+(T)3)
#elif W==8
#define LANES (V)(a,a+(T)1,a+(T)2,a+(T)3,a+(T)4,a+(T)5,a+(T)6,a+(T)7)
#else
#define LANES (V)(a,a+(T)1,a+(T)2,a+(T)3,a+(T)4,a+(T)5,a+(T)6,a+(T)7,a+(T)8,a+(T)9,a+(T)10,a+(T)11,a+(T)12,a+ \
    (T)13,a+(T)14,a+(T)15)
#endif
#ifdef INTS
#define STEP(x,y) x = y*x+y; y = x*y+x;
#elif defined(I24)
#define STEP(x,y) x = mad24(y,x,y); y = mad24(x,y,x);
#else
#define STEP(x,y) x = mad(y,x,y); y = mad(x,y,x);
#endif
#define S4(x,y) STEP(x,y) STEP(x,y)
#define S16(x,y) S4(x,y) S4(x,y) S4(x,y) S4(x,y)
kernel void chain(global T *out, T a)
{
    V x = LANES, y = (V)(T)get_local_id(0);
    for (int i = 0; i < TURNS; ++i) { S16(x,y) }
    out[get_global_id(0)] = S(y);
}
kernel void bw_local(global const V *in, global T *out)
{
    int id = get_group_id(0)*get_local_size(0)*16 + get_local_id(0);
    V s = (V)(T)0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) { s += in[id]; id += get_local_size(0); }
    out[get_global_id(0)] = S(s);
}
kernel void bw_global(global const V *in, global T *out)
{
    int id = get_global_id(0);
    V s = (V)(T)0;
    #pragma unroll
    for (int i = 0; i < 16; ++i) { s += in[id]; id += get_global_size(0); }
    out[get_global_id(0)] = S(s);
}
