// What comes before every kernel, second part: functions and types that clang does not declare, as far as the macros say that
// they are offered. What the functions do is written in `front::spirv::functions` and `front::spirv::intel`.

// Drivers that offer `half` take it without being asked.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

// LLVM's translator stops at a sampler that a function is given, unless a kernel has one before.
kernel void tripipe_first(sampler_t sampler) {}

// Qualcomm.
#ifdef cl_qcom_dot_product8
int qcom_dot8_acc(uint, uint, int);
uint qcom_udot8_acc(uint, uint, uint);
#endif
#ifdef cl_qcom_subgroup_shuffle
typedef enum { CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM } qcom_sub_group_shuffle_width;
#define TRIPIPE_SHUFFLES(T) \
    T __attribute__((overloadable)) qcom_sub_group_shuffle_up(T, uint, qcom_sub_group_shuffle_width, T); \
    T __attribute__((overloadable)) qcom_sub_group_shuffle_down(T, uint, qcom_sub_group_shuffle_width, T); \
    T __attribute__((overloadable)) qcom_sub_group_shuffle_xor(T, uint, qcom_sub_group_shuffle_width, T);
TRIPIPE_SHUFFLES(char)
TRIPIPE_SHUFFLES(uchar)
TRIPIPE_SHUFFLES(short)
TRIPIPE_SHUFFLES(ushort)
TRIPIPE_SHUFFLES(int)
TRIPIPE_SHUFFLES(uint)
TRIPIPE_SHUFFLES(long)
TRIPIPE_SHUFFLES(ulong)
TRIPIPE_SHUFFLES(half)
TRIPIPE_SHUFFLES(float)
#undef TRIPIPE_SHUFFLES
#endif
#ifdef cl_qcom_reqd_sub_group_size
#define qcom_reqd_sub_group_size(share) annotate("qcom_reqd_sub_group_size " share)
#endif
// Advice to Qualcomm's compiler that changes no result.
#define qcom_wave_pair_mode(mode) unused
#define qcom_max_concurrent_subgroups(number) unused
#define max_constant_size(bytes) unused
#define sub_group_uniform unused
// Copies into constant memory by a sub-group: destination, source, element to begin with in each, number of elements.
#ifdef cl_qcom_subgroup_constant_load
#define QCOM_CLK_CONST_LOAD_SYNC 1
uint qcom_get_physical_sub_group_id(void);
void qcom_sub_group_sync(uint);
#define TRIPIPE_LOAD(NAME, T) \
    void __attribute__((overloadable)) qcom_sub_group_constant_load##NAME(constant T *, constant T *, uint, uint, uint); \
    void __attribute__((overloadable)) qcom_sub_group_constant_load##NAME(constant T *, const global T *, uint, uint, uint);
#define TRIPIPE_LOADS(T) \
    TRIPIPE_LOAD(, T) TRIPIPE_LOAD(2, T##2) TRIPIPE_LOAD(4, T##4) TRIPIPE_LOAD(8, T##8) TRIPIPE_LOAD(16, T##16)
TRIPIPE_LOADS(char)
TRIPIPE_LOADS(uchar)
TRIPIPE_LOADS(short)
TRIPIPE_LOADS(ushort)
TRIPIPE_LOADS(int)
TRIPIPE_LOADS(uint)
TRIPIPE_LOADS(half)
TRIPIPE_LOADS(float)
#undef TRIPIPE_LOADS
#undef TRIPIPE_LOAD
#endif
#ifdef TRIPIPE_VECTOR_BROADCAST
#define TRIPIPE_BROADCAST(T) T __attribute__((overloadable, convergent)) sub_group_broadcast(T, uint);
#define TRIPIPE_BROADCASTS(T) \
    TRIPIPE_BROADCAST(T##2) TRIPIPE_BROADCAST(T##3) TRIPIPE_BROADCAST(T##4) TRIPIPE_BROADCAST(T##8) TRIPIPE_BROADCAST(T##16)
TRIPIPE_BROADCASTS(int)
TRIPIPE_BROADCASTS(uint)
TRIPIPE_BROADCASTS(long)
TRIPIPE_BROADCASTS(ulong)
TRIPIPE_BROADCASTS(half)
TRIPIPE_BROADCASTS(float)
#undef TRIPIPE_BROADCASTS
#undef TRIPIPE_BROADCAST
#endif
// Vectors of 32, for texts that name the extension: elsewhere `uint32` and its like are names that anybody may give. The components of
// the upper half are named so by `components.rs`.
#ifdef cl_qcom_extra_vector_types
#define TRIPIPE_VECTOR(T) typedef T T##32 __attribute__((ext_vector_type(32)));
TRIPIPE_VECTOR(char)
TRIPIPE_VECTOR(uchar)
TRIPIPE_VECTOR(short)
TRIPIPE_VECTOR(ushort)
TRIPIPE_VECTOR(int)
TRIPIPE_VECTOR(uint)
TRIPIPE_VECTOR(long)
TRIPIPE_VECTOR(ulong)
TRIPIPE_VECTOR(half)
TRIPIPE_VECTOR(float)
#undef TRIPIPE_VECTOR
#define $g hi.s0
#define $h hi.s1
#define $i hi.s2
#define $j hi.s3
#define $k hi.s4
#define $l hi.s5
#define $m hi.s6
#define $n hi.s7
#define $o hi.s8
#define $p hi.s9
#define $q hi.sa
#define $r hi.sb
#define $s hi.sc
#define $t hi.sd
#define $u hi.se
#define $v hi.sf
#endif

// Intel: `cl_intel_subgroups` and its kin, unless the text is built for a device.
#ifndef TRIPIPE_DEVICE
#define TRIPIPE_SHUFFLES(T) \
    T __attribute__((overloadable)) intel_sub_group_shuffle(T, uint); \
    T __attribute__((overloadable)) intel_sub_group_shuffle_xor(T, uint); \
    T __attribute__((overloadable)) intel_sub_group_shuffle_up(T, T, uint); \
    T __attribute__((overloadable)) intel_sub_group_shuffle_down(T, T, uint);
#define TRIPIPE_BLOCK(SUFFIX, T, N) \
    T##N __attribute__((overloadable)) intel_sub_group_block_read##SUFFIX##N(const global T *); \
    void __attribute__((overloadable)) intel_sub_group_block_write##SUFFIX##N(global T *, T##N);
#define TRIPIPE_BLOCKS(SUFFIX, T) \
    TRIPIPE_BLOCK(SUFFIX, T, ) TRIPIPE_BLOCK(SUFFIX, T, 2) TRIPIPE_BLOCK(SUFFIX, T, 4) TRIPIPE_BLOCK(SUFFIX, T, 8)
#define TRIPIPE_SHORTS(T) \
    T __attribute__((overloadable)) intel_sub_group_broadcast(T, uint); \
    T __attribute__((overloadable)) intel_sub_group_reduce_add(T); \
    T __attribute__((overloadable)) intel_sub_group_reduce_min(T); \
    T __attribute__((overloadable)) intel_sub_group_reduce_max(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_exclusive_add(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_exclusive_min(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_exclusive_max(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_inclusive_add(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_inclusive_min(T); \
    T __attribute__((overloadable)) intel_sub_group_scan_inclusive_max(T);
#define TRIPIPE_ALL(T) \
    TRIPIPE_SHUFFLES(T) TRIPIPE_SHUFFLES(T##2) TRIPIPE_SHUFFLES(T##3) TRIPIPE_SHUFFLES(T##4) TRIPIPE_SHUFFLES(T##8) \
    TRIPIPE_SHUFFLES(T##16)
TRIPIPE_ALL(char)
TRIPIPE_ALL(uchar)
TRIPIPE_ALL(short)
TRIPIPE_ALL(ushort)
TRIPIPE_ALL(int)
TRIPIPE_ALL(uint)
TRIPIPE_ALL(float)
TRIPIPE_ALL(half)
TRIPIPE_SHUFFLES(long)
TRIPIPE_SHUFFLES(ulong)
TRIPIPE_SHORTS(short)
TRIPIPE_SHORTS(ushort)
TRIPIPE_BLOCKS(, uint)
TRIPIPE_BLOCKS(_ui, uint)
TRIPIPE_BLOCKS(_us, ushort)
TRIPIPE_BLOCK(_us, ushort, 16)
TRIPIPE_BLOCKS(_uc, uchar)
TRIPIPE_BLOCK(_uc, uchar, 16)
TRIPIPE_BLOCKS(_ul, ulong)
#undef TRIPIPE_ALL
#undef TRIPIPE_BLOCKS
#undef TRIPIPE_BLOCK
#undef TRIPIPE_SHORTS
#undef TRIPIPE_SHUFFLES
#endif
