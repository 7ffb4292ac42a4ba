// generic convolution, float image, kernel size an argument
kernel void conv2d(global float *input, global float *filter, global float *output, int width, int height, int ksize)
{
    int col = get_global_id(0);
    int row = get_global_id(1);
    int half_k = ksize / 2;
    float sum = 0.0;
    if (row < height && col < width) {
        for (int i = 0; i < ksize; i++) {
            for (int j = 0; j < ksize; j++) {
                int r = row + i - half_k;
                int c = col + j - half_k;
                if (r >= 0 && r < height && c >= 0 && c < width)
                    sum += input[r * width + c] * filter[i * ksize + j];
            }
        }
        output[row * width + col] = sum;
    }
}
