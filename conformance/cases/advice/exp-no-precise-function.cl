kernel void k(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = exp(a[i]); }
kernel void s(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = sin(a[i]); }
kernel void p(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = pow(a[i], 2.2f); }
kernel void l(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = log(a[i]); }
kernel void n(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = native_exp(a[i]); }
kernel void q(global const float *a, global float *o) { size_t i = get_global_id(0); o[i] = exp(-a[i]*a[i]*0.01f)*7; }
kernel void r(global const uchar *a, global float *o) { size_t i = get_global_id(0); int d = a[i]-a[i+1];
    o[i] = exp(-(float)(d*d)*0.01f); }
