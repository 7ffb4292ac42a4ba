// Transposes a matrix of `width` x `height` numbers, both multiples of 16, in work-groups of 16 x 16.
kernel void turn(global const float *from, global float *to, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    to[x * height + y] = from[y * width + x];
}
