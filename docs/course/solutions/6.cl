// One pass: sum (x - mean)^2 = sum x^2 - (sum x)^2 / 16. Two numbers are kept instead of 16. (Where the mean is far
// larger than the spread, this loses digits; read `from` twice there.)
kernel void spread(global const float4 *from, global float4 *to) {
    int i = get_global_id(0), columns = get_global_size(0);
    float4 sum = 0, squares = 0;
    for (int k = 0; k < 16; k++) {
        float4 x = from[i + columns * k];
        sum += x;
        squares += x * x;
    }
    to[i] = squares - sum * sum / 16;
}
