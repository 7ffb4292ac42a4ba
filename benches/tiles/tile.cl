// C = A B with a tile of TM x TN elements of C a work-item: A is stored [k][m], B [k][n], C [n][m], all multiples of the tiles.
//
// TYPE: float or half. LM, LN: the work-group. VM, VN: elements of a vector along m and n. KWG: steps along k that local memory
// holds, KWI: steps of an unrolled turn. SA, SB: 1 stages A or B in local memory. STRM, STRN: 1 takes vectors a work-group
// apart, 0 neighbouring ones.
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#if VM == 1
typedef TYPE MV;
#else
typedef CAT(TYPE, VM) MV;
#endif
#if VN == 1
typedef TYPE NV;
#else
typedef CAT(TYPE, VN) NV;
#endif
#define MN (TM / VM)
#define NN (TN / VN)
#define GM (TM * LM)
#define GN (TN * LN)
#if STRM
#define MAT(i) ((i) * LM + lm)
#else
#define MAT(i) (lm * MN + (i))
#endif
#if STRN
#define NAT(i) ((i) * LN + ln)
#else
#define NAT(i) (ln * NN + (i))
#endif
__kernel __attribute__((reqd_work_group_size(LM, LN, 1)))
void tile(__global const MV *restrict a, __global const NV *restrict b, __global MV *restrict c, int m, int n, int k) {
    const int lm = get_local_id(0), ln = get_local_id(1);
    const int gm = get_group_id(0), gn = get_group_id(1);
#if SA
    __local MV ta[KWG * GM / VM];
#endif
#if SB
    __local NV tb[KWG * GN / VN];
#endif
    MV acc[TN][MN];
    #pragma unroll
    for (int j = 0; j < TN; j++)
        #pragma unroll
        for (int i = 0; i < MN; i++) acc[j][i] = (MV)(0);
    for (int kw = 0; kw < k; kw += KWG) {
#if SA
        for (int t = lm + ln * LM; t < KWG * GM / VM; t += LM * LN)
            ta[t] = a[(kw + t / (GM / VM)) * (m / VM) + gm * (GM / VM) + t % (GM / VM)];
#endif
#if SB
        for (int t = lm + ln * LM; t < KWG * GN / VN; t += LM * LN)
            tb[t] = b[(kw + t / (GN / VN)) * (n / VN) + gn * (GN / VN) + t % (GN / VN)];
#endif
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        for (int p = 0; p < KWG; p += KWI) {
            #pragma unroll
            for (int q = 0; q < KWI; q++) {
                MV av[MN];
                NV bv[NN];
                #pragma unroll
                for (int i = 0; i < MN; i++)
#if SA
                    av[i] = ta[(p + q) * (GM / VM) + MAT(i)];
#else
                    av[i] = a[(kw + p + q) * (m / VM) + gm * (GM / VM) + MAT(i)];
#endif
                #pragma unroll
                for (int j = 0; j < NN; j++)
#if SB
                    bv[j] = tb[(p + q) * (GN / VN) + NAT(j)];
#else
                    bv[j] = b[(kw + p + q) * (n / VN) + gn * (GN / VN) + NAT(j)];
#endif
                #pragma unroll
                for (int j = 0; j < NN; j++) {
                    #pragma unroll
                    for (int i = 0; i < MN; i++) {
#if VN == 1
                        acc[j][i] += av[i] * bv[j];
#elif VN == 2
                        acc[j * 2][i] += av[i] * bv[j].s0;
                        acc[j * 2 + 1][i] += av[i] * bv[j].s1;
#elif VN == 4
                        acc[j * 4][i] += av[i] * bv[j].s0;
                        acc[j * 4 + 1][i] += av[i] * bv[j].s1;
                        acc[j * 4 + 2][i] += av[i] * bv[j].s2;
                        acc[j * 4 + 3][i] += av[i] * bv[j].s3;
#else
                        acc[j * 8][i] += av[i] * bv[j].s0;
                        acc[j * 8 + 1][i] += av[i] * bv[j].s1;
                        acc[j * 8 + 2][i] += av[i] * bv[j].s2;
                        acc[j * 8 + 3][i] += av[i] * bv[j].s3;
                        acc[j * 8 + 4][i] += av[i] * bv[j].s4;
                        acc[j * 8 + 5][i] += av[i] * bv[j].s5;
                        acc[j * 8 + 6][i] += av[i] * bv[j].s6;
                        acc[j * 8 + 7][i] += av[i] * bv[j].s7;
#endif
                    }
                }
            }
        }
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    #pragma unroll
    for (int j = 0; j < NN; j++) {
        #pragma unroll
        for (int q = 0; q < VN; q++)
            #pragma unroll
            for (int i = 0; i < MN; i++)
                c[((gn * (GN / VN) + NAT(j)) * VN + q) * (m / VM) + gm * (GM / VM) + MAT(i)] = acc[j * VN + q][i];
    }
}
