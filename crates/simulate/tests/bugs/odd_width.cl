// Four pixels a work-item, but rows of 13: the last load of the last row leaves the image.
kernel void odd_width(global const float *in, global float *sums, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    float4 v = vload4(x, in + y * width); //~ ERROR out-of-bounds-read
    sums[y * get_global_size(0) + x] = v.x + v.y + v.z + v.w;
}

kernel void odd_width_ok(global const float *in, global float *sums, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    if (4 * x + 4 <= width) {
        float4 v = vload4(x, in + y * width);
        sum = v.x + v.y + v.z + v.w;
    } else {
        for (int k = 4 * x; k < width; k++) sum += in[y * width + k];
    }
    sums[y * get_global_size(0) + x] = sum;
}
