// What phones offer beyond OpenCL C 1.2, without being asked for: half, dot products, sub-groups, fields of bits.
half4 twice(half4 x) { return x * 2.0h; }
kernel void half_arguments(global half *a, half b, local half3 *l) {
    half4 v = twice((half4)(a[0], b, 1.0h, 0.5h));
    a[0] = v.x + v.w; l[0] = v.xyz; vstore4(v, 0, a);
}
kernel void arm(global uint *u, global int *s, uchar4 a, uchar4 b, char4 c, char4 d, ushort2 e, ushort2 f, short2 g,
                short2 h) {
    u[0] = arm_dot(a, b); s[0] = arm_dot(c, d);
    u[1] = arm_dot_acc(a, b, u[2]); s[1] = arm_dot_acc(c, d, s[2]);
    u[2] = arm_dot_acc(e, f, u[3]); s[2] = arm_dot_acc(g, h, s[3]);
    u[3] = arm_dot_acc_sat(a, b, u[4]); s[3] = arm_dot_acc_sat(c, d, s[4]);
}
kernel void packed(global uint *u, global int *s, uchar4 a, char4 b) {
    u[0] = dot_4x8packed_uu_uint(u[1], u[2]); s[0] = dot_4x8packed_ss_int(u[1], u[2]);
    s[1] = dot_4x8packed_us_int(u[1], u[2]) + dot_4x8packed_su_int(u[1], u[2]);
    u[3] = dot_acc_sat_4x8packed_uu_uint(u[1], u[2], u[4]); s[3] = dot_acc_sat_4x8packed_ss_int(u[1], u[2], s[4]);
    s[4] = dot_acc_sat_4x8packed_us_int(u[1], u[2], s[5]) + dot_acc_sat_4x8packed_su_int(u[1], u[2], s[6]);
    s[5] = dot(a, b) + dot(b, b) + dot_acc_sat(b, a, s[7]);
}
kernel void qualcomm(global uint *u, global int *s, global float *f, global half *h) {
    s[0] = qcom_dot8_acc(u[0], u[1], s[1]); u[2] = qcom_udot8_acc(u[0], u[1], u[3]);
    float x = f[get_global_id(0)];
    x += qcom_sub_group_shuffle_down(x, 4, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, 0.0f);
    x += qcom_sub_group_shuffle_up(x, 2, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, x);
    x += qcom_sub_group_shuffle_xor(x, 1, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, x);
    f[get_global_id(0)] = x;
    h[0] = qcom_sub_group_shuffle_xor(h[1], 1, CLK_SUB_GROUP_SHUFFLE_WIDTH_WAVE_SIZE_QCOM, h[1]);
}
kernel void intel(global uint *a, global ushort *b, global float *f) {
    uint4 block = intel_sub_group_block_read4(a);
    intel_sub_group_block_write2(a, block.xy);
    intel_sub_group_block_write_us(b, intel_sub_group_block_read_us(b + 8));
    float x = f[0], y = f[1];
    f[2] = intel_sub_group_shuffle(x, 3) + intel_sub_group_shuffle_xor(x, 1);
    f[3] = intel_sub_group_shuffle_down(x, y, 2) + intel_sub_group_shuffle_up(x, y, 2);
    short s = b[0];
    b[1] = intel_sub_group_broadcast(s, 1) + intel_sub_group_reduce_min(s) + intel_sub_group_scan_exclusive_add(b[2])
        + intel_sub_group_scan_inclusive_max(b[3]);
}
kernel void clusters(global int *a, global float *f, global uint4 *votes) {
    a[0] = sub_group_clustered_reduce_add(a[1], 4) + sub_group_clustered_reduce_max(a[2], 8);
    f[0] = sub_group_clustered_reduce_mul(f[1], 2) + sub_group_clustered_reduce_min(f[2], 1);
    f[3] = sub_group_rotate(f[4], 3) + sub_group_clustered_rotate(f[5], 1, 4);
    uint4 ballot = sub_group_ballot(a[3]);
    a[4] = sub_group_ballot_bit_count(ballot) + sub_group_ballot_inclusive_scan(ballot)
        + sub_group_ballot_exclusive_scan(ballot);
    votes[0] = ballot;
}
kernel void fields(global int *i, global ulong4 *l, global short *s, uint offset, uint count) {
    i[0] = bitfield_insert(i[1], i[2], offset, count);
    i[1] = bitfield_extract_signed(i[1], offset, count);
    l[0] = bitfield_extract_unsigned(l[1], 3, 7);
    s[0] = bit_reverse(s[1]);
}
kernel void loads(constant half8 *h, constant half8 *from __attribute__((sub_group_uniform)), constant uchar16 *c,
                  global const uchar16 *d, constant float *f __attribute__((max_constant_size(1024))),
                  global const float *g, global half8 *out) {
    uint slot = qcom_get_physical_sub_group_id();
    qcom_sub_group_constant_load8(h, from, slot, 3, 2);
    qcom_sub_group_constant_load16(c, d, 0, slot, 1);
    qcom_sub_group_constant_load(f, g, slot, slot, 4);
    qcom_sub_group_sync(QCOM_CLK_CONST_LOAD_SYNC);
    out[0] = h[slot] * (half)f[slot] + (half)c[0].s3;
}
