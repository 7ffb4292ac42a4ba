// one row per work-item
kernel void softmax(global const float *in, global float *out, int rows, int cols)
{
    int r = get_global_id(0);
    if (r >= rows) return;
    global const float *row = in + r * cols;
    float biggest = row[0];
    for (int i = 1; i < cols; i++)
        if (row[i] > biggest) biggest = row[i];
    float sum = 0.0f;
    for (int i = 0; i < cols; i++) sum += exp(row[i] - biggest);
    for (int i = 0; i < cols; i++) out[r * cols + i] = exp(row[i] - biggest) / sum;
}
