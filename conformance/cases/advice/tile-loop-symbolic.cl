// Work-group size fixed by the kernel: 16. The loop runs once or twice; analyze says "16.. n", "taken as 16", and
// --budget fails with rc 2.
kernel __attribute__((reqd_work_group_size(16, 1, 1))) void k(global const float *in, global float *out) {
  local float t[22];
  for (int i = get_local_id(0); i < 22; i += 16) t[i] = in[get_group_id(0) * 16 + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0; for (int k = 0; k < 7; k++) s += t[get_local_id(0) + k];
  out[get_global_id(0)] = s;
}
