// A bin without samples has no mean.
kernel void mean_of_empty_bin(global const uint *sums, global const uint *counts, global uint *means) {
    int bin = get_global_id(0);
    means[bin] = sums[bin] / counts[bin]; //~ ERROR division-by-zero
}

kernel void mean_of_empty_bin_ok(global const uint *sums, global const uint *counts, global uint *means) {
    int bin = get_global_id(0);
    means[bin] = counts[bin] ? sums[bin] / counts[bin] : 0;
}
