// analyze -g mali-g78 --global 1048576: "precise-function" is reported for `ok` but for neither of the others.
kernel void ok(global const float *a, global float *o, float k) { int i = get_global_id(0); float s = 0;
  for (int j = 0; j < 5; j++) s += exp(a[i + j]); o[i] = s; }
kernel void uniform_factor(global const float *a, global float *o, float k) { int i = get_global_id(0); float s = 0;
  for (int j = 0; j < 5; j++) s += exp(-(j*j)*k) * exp(a[i + j]); o[i] = s; }
kernel void uniform_factor_other_line(global const float *a, global float *o, float k) { int i = get_global_id(0);
    float s = 0;
  for (int j = 0; j < 5; j++) { float u = exp(-(j*j)*k);
     s += u * exp(a[i + j]); } o[i] = s; }
kernel void of_int(global const uchar *a, global float *o, float k) { int i = get_global_id(0); float s = 0;
    int c = a[i];
  for (int j = 0; j < 5; j++) { int d = a[i + j] - c; s += exp(-(float)(d * d) * k); } o[i] = s; }
kernel void of_int_signed(global const uchar *a, global float *o, float k) { int i = get_global_id(0); float s = 0;
    int c = a[i];
  for (int j = -2; j <= 2; j++) { int d = a[i + j + 2] - c; s += exp(-(float)(d * d) * k); } o[i] = s; }
