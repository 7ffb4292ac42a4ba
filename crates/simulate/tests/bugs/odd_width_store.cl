// Four pixels a work-item, rows of 13: the last store of a row goes on into the next row, or behind the image.
kernel void odd_width_store(global float *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    vstore4((float4)(100 * y + x), x, out + y * width);
    //~^ ERROR data-race-between-groups
    //~^^ ERROR out-of-bounds-write
}

kernel void odd_width_store_ok(global float *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    float value = 100 * y + x;
    if (4 * x + 4 <= width)
        vstore4((float4)(value), x, out + y * width);
    else
        for (int k = 4 * x; k < width; k++) out[y * width + k] = value;
}
