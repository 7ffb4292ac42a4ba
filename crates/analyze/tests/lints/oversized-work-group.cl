// The models allow 512 work-items on a G77, 256 on a T860, 1024 on an Adreno 640.
// on: Mali-G77, Mali-T860
// not on: Adreno 640

__attribute__((reqd_work_group_size(32, 32, 1)))
kernel void slow(global float* out) {
    out[get_global_id(1) * 1024 + get_global_id(0)] = 1;
}

__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void quick(global float* out) {
    out[get_global_id(1) * 1024 + get_global_id(0)] = 1;
}
