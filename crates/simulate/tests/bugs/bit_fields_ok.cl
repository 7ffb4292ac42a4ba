// Bit-fields share a word; setting one reads the unset others.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

typedef struct {
    uint red : 5;
    uint green : 6;
    uint blue : 5;
    uint spare : 16;
} Pixel;

kernel void bit_fields_ok(global const uint *in, global uint *out) {
    int i = get_global_id(0);
    Pixel pixel;
    pixel.red = in[i];
    pixel.green = in[i];
    pixel.blue = in[i];
    out[i] = pixel.red + pixel.green + pixel.blue;
}
