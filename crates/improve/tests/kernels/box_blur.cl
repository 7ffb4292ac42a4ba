#define R 1
__kernel void box_blur(__global const uchar *in, __global uchar *out, int w, int h)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= w || y >= h) return;

    int sum = 0;
    int count = 0;
    for (int dy = -R; dy <= R; dy++) {
        for (int dx = -R; dx <= R; dx++) {
            int xx = x + dx;
            int yy = y + dy;
            if (xx >= 0 && xx < w && yy >= 0 && yy < h) {
                sum += in[yy * w + xx];
                count++;
            }
        }
    }
    out[y * w + x] = sum / count;
}
