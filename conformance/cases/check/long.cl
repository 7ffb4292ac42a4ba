kernel void mandel(global int *o, int n) { int i = get_global_id(0); uint x = i; for (int k = 0; k < n;
    k++) x = x * 1664525u + 1013904223u + (x >> 7); o[i] = x; }
