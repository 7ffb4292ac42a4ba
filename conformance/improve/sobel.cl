__kernel void sobel(__global const uchar* src, __global uchar* dst, const unsigned int w, const unsigned int h) {
  size_t x = get_global_id(0), y = get_global_id(1);
  if (x == 0 || y == 0 || x >= w - 1 || y >= h - 1) { return; }
  int gx = -src[(y-1)*w+x-1] + src[(y-1)*w+x+1] - 2*src[y*w+x-1] + 2*src[y*w+x+1] - src[(y+1)*w+x-1] + src[(y+1)*w+x+1];
  int gy = -src[(y-1)*w+x-1] - 2*src[(y-1)*w+x] - src[(y-1)*w+x+1] + src[(y+1)*w+x-1] + 2*src[(y+1)*w+x] + src[(y+1)*w+x+1];
  dst[y*w+x] = (uchar)min(255.0f, sqrt((float)(gx*gx+gy*gy)));
}
