kernel void one_line(global float *o, float c) { float x = o[get_global_id(0)];
  x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c); x=fma(x,x,c);
  o[get_global_id(0)] = x; }
kernel void eight_lines(global float *o, float c) { float x = o[get_global_id(0)];
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  x = fma(x,x,c);
  o[get_global_id(0)] = x; }
kernel void unrolled(global float *o, float c) { float x = o[get_global_id(0)];
  #pragma unroll
  for (int i = 0; i < 8; i++) x = fma(x,x,c);
  o[get_global_id(0)] = x; }
