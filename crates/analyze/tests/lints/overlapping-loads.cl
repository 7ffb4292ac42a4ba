// on: Mali-T760, Mali-G52

// A row of packed pixels, and their neighbours to the left and right.
kernel void slow(global const uchar *in, global uchar *out, int pitch)
{
    global const uchar *row = in + get_global_id(1) * pitch + 16 * get_global_id(0) + 3;
    const uchar16 left = vload16(0, row - 3), middle = vload16(0, row), right = vload16(0, row + 3); // here
    vstore16(max(left, max(middle, right)), 0, out + get_global_id(1) * pitch + 16 * get_global_id(0));
}

kernel void quick(global const uchar *in, global uchar *out, int pitch)
{
    global const uchar *row = in + get_global_id(1) * pitch + 16 * get_global_id(0) + 3;
    const uchar16 left = vload16(0, row - 3), right = vload16(0, row + 3);
    const uchar16 middle = (uchar16)(left.s3456789a, left.sbcde, left.sf, right.sabc);
    vstore16(max(left, max(middle, right)), 0, out + get_global_id(1) * pitch + 16 * get_global_id(0));
}

// Two that overlap are both needed.
kernel void quick_two(global const uchar *in, global uchar *out)
{
    global const uchar *row = in + 16 * get_global_id(0);
    vstore16(max(vload16(0, row), vload16(0, row + 3)), 0, out + 16 * get_global_id(0));
}

// What lies between has been written meanwhile.
kernel void quick_written(global uchar *data, global uchar *out)
{
    global uchar *row = data + 24 * get_global_id(0);
    uchar16 sum = vload16(0, row) + vload16(0, row + 6);
    vstore16(sum, 0, row + 3);
    sum += vload16(0, row + 3);
    vstore16(sum, 0, out + 16 * get_global_id(0));
}

// Arithmetic bounds: moves would only add to it.
kernel void quick_arithmetic(global const uchar *in, global uchar *out)
{
    global const uchar *row = in + 16 * get_global_id(0);
    float16 sum = sqrt(convert_float16(vload16(0, row)));
    sum += sqrt(convert_float16(vload16(0, row + 3)));
    sum += sqrt(convert_float16(vload16(0, row + 6)));
    vstore16(convert_uchar16_sat(sum), 0, out + 16 * get_global_id(0));
}
