// Bit fields are written, through memory that may only be written: the compiler loads the others to put them back.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

typedef struct { uint kind : 4, size : 12, used : 16; } Entry;
kernel void part_of_word_ok(global const uint *in, global Entry *out) {
    int i = get_global_id(0);
    out[i].kind = in[i] & 15;
    out[i].used = 1;
}
