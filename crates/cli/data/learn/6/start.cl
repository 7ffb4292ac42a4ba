// How far 16 numbers spread around their mean: the sum of (x - mean)^2, for four columns a work-item.
kernel void spread(global const float4 *from, global float4 *to) {
    int i = get_global_id(0), columns = get_global_size(0);
    float4 x[16], mean = 0, sum = 0;
    for (int k = 0; k < 16; k++) x[k] = from[i + columns * k];
    for (int k = 0; k < 16; k++) mean += x[k] / 16;
    for (int k = 0; k < 16; k++) sum += (x[k] - mean) * (x[k] - mean);
    to[i] = sum;
}
