__kernel void matvec(__global const float *A, __global const float *x, __global float *y, int rows, int cols) {
  int i = get_global_id(0);
  if (i < rows) {
    float s = 0;
    for (int j = 0; j < cols; ++j) s += A[i * cols + j] * x[j];
    y[i] = s;
  }
}
