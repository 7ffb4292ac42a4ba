// emulated-local-memory is advised for `same` (uchar tile) but not for `converted` (int tile of uchar data), which
// is worse.
#define BODY(T) local T t[66]; int l = get_local_id(0), i = get_global_id(0); t[l] = in[i]; \
    if (l < 2) t[64 + l] = in[i + 64]; \
  barrier(CLK_LOCAL_MEM_FENCE); out[i] = t[l] + t[l + 2];
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void same(global const uchar *in, global int *out) {
    BODY(uchar) }
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void converted(global const uchar *in, global int *out) {
    BODY(int) }
