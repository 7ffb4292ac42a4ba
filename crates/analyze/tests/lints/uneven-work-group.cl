// on: Mali-G77, Adreno 640
// launch slow: global=1000 local=10
// launch quick_full: global=1024 local=128
// launch slow_prime: global=2003
// launch quick_even: global=1024

kernel void slow(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_full(global float *data) { data[get_global_id(0)] *= 2; }
kernel void slow_prime(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_even(global float *data) { data[get_global_id(0)] *= 2; }

// Without sizes nothing is said.
kernel void quick_unknown(global float *data) { data[get_global_id(0)] *= 2; }
