// The largest sample falls into the bin behind the last.
#define BINS 16

kernel void top_bin(global const float *samples, global uint *histogram, float top) {
    int bin = samples[get_global_id(0)] * BINS / top;
    atomic_inc(&histogram[bin]); //~ ERROR out-of-bounds-write
}

kernel void top_bin_ok(global const float *samples, global uint *histogram, float top) {
    int bin = samples[get_global_id(0)] * BINS / top;
    atomic_inc(&histogram[min(bin, BINS - 1)]);
}
