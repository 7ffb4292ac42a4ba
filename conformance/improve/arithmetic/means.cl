// Non-local means: each of 5 x 5 neighbours counts by how alike its 3 x 3 patch is.
kernel void means(global const uchar *in, global uchar *out, int w, int h, float strength)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < 3 || y < 3 || x >= w - 3 || y >= h - 3)
        return;
    float sum = 0.0f, norm = 0.0f;
    for (int j = -2; j <= 2; j++) {
        for (int i = -2; i <= 2; i++) {
            float distance = 0.0f;
            for (int b = -1; b <= 1; b++) {
                for (int a = -1; a <= 1; a++) {
                    float d = (in[(y + b) * w + x + a] - in[(y + j + b) * w + x + i + a]) / 255.0f;
                    distance += d * d;
                }
            }
            float weight = exp(-distance * strength);
            sum += weight * in[(y + j) * w + x + i] / 255.0f;
            norm += weight;
        }
    }
    out[y * w + x] = convert_uchar_sat_rte(sum / norm * 255.0f);
}
