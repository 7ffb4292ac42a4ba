// A convolution of a gray image, for tuning (kernel_tuner_convolution.py). The image has a margin of RADIUS pixels at
// each side, so that no pixel needs a test.
//
// block_size_x, block_size_y   work-items of a group
// tile_size_x, tile_size_y     pixels that each of them computes, a block apart: neighbours store side by side
// use_padding                  one more column of local memory, so that rows begin in other banks

#ifndef block_size_x
#define block_size_x 16
#define block_size_y 16
#define tile_size_x 1
#define tile_size_y 1
#define use_padding 0
#endif

#define RADIUS 3
#define SIDE (2 * RADIUS + 1)
#define WIDE (block_size_x * tile_size_x + 2 * RADIUS)
#define HIGH (block_size_y * tile_size_y + 2 * RADIUS)

kernel void convolve(global const float* image, constant float* weights, global float* result, int width, int height) {
    local float pixels[HIGH][WIDE + use_padding];
    const int x = get_local_id(0);
    const int y = get_local_id(1);
    const int left = get_group_id(0) * block_size_x * tile_size_x;
    const int top = get_group_id(1) * block_size_y * tile_size_y;
    const int pitch = width + 2 * RADIUS;

    // The last groups may reach past the margin.
    for (int j = y; j < HIGH; j += block_size_y) {
        for (int i = x; i < WIDE; i += block_size_x) {
            const int row = min(top + j, height + 2 * RADIUS - 1);
            const int column = min(left + i, pitch - 1);
            pixels[j][i] = image[row * pitch + column];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float sums[tile_size_y][tile_size_x];
#pragma unroll
    for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
        for (int u = 0; u < tile_size_x; u++) {
            sums[v][u] = 0.0f;
        }
    }
    for (int j = 0; j < SIDE; j++) {
        for (int i = 0; i < SIDE; i++) {
            const float weight = weights[j * SIDE + i];
#pragma unroll
            for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
                for (int u = 0; u < tile_size_x; u++) {
                    sums[v][u] += weight * pixels[y + v * block_size_y + j][x + u * block_size_x + i];
                }
            }
        }
    }
#pragma unroll
    for (int v = 0; v < tile_size_y; v++) {
#pragma unroll
        for (int u = 0; u < tile_size_x; u++) {
            const int row = top + y + v * block_size_y;
            const int column = left + x + u * block_size_x;
            if (row < height && column < width) {
                result[row * width + column] = sums[v][u];
            }
        }
    }
}
