// on: Mali-G77
// launch slow: global=512 local=128
// launch slow_last: global=1280 local=128
// launch slow_items: global=1152 local=64
// launch quick_full: global=9216 local=128
// launch quick_many: global=128000 local=128
// launch quick_driver: global=1000000
// on slow_published: Mali-T604
// on quick_published: Mali-T604
// launch slow_published: global=64,63
// launch quick_published: global=64,64

// 9 cores: 4 groups, 10 groups, 18 groups of 64, and enough of them. Where the driver chooses the groups there are enough.
kernel void slow(global float *data) { data[get_global_id(0)] *= 2; }
kernel void slow_last(global float *data) { data[get_global_id(0)] *= 2; }
kernel void slow_items(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_full(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_many(global float *data) { data[get_global_id(0)] *= 2; }
kernel void quick_driver(global float *data) { data[get_global_id(0)] *= 2; }

// Without sizes nothing is said.
kernel void quick_unknown(global float *data) { data[get_global_id(0)] *= 2; }

// A study of a T604: at least 4,096 work-items.
kernel void slow_published(global float *data) { data[get_global_id(1) * 64 + get_global_id(0)] *= 2; }
kernel void quick_published(global float *data) { data[get_global_id(1) * 64 + get_global_id(0)] *= 2; }
