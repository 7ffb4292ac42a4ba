// A smoothing filter with planted bugs, for the page of `tripipe check`.

kernel void smooth(global const float *in, global float *out, global int *histogram, int width,
                   int height)
{
    local float tile[66];
    const int x = get_global_id(0);
    const int lane = get_local_id(0);
    tile[lane + 1] = in[x];
    if (lane == 0) {
        tile[0] = in[x - 1];
    }
    // Planted: no barrier here, and the right neighbour of the tile is never loaded.
    const float sum = tile[lane] + 2.0f * tile[lane + 1] + tile[lane + 2];
    out[x] = sum / 4.0f;
    // Planted: adjacent values are counted at the same time, without an atomic operation.
    const int bin = (int)(sum * 0.5f) & 7;
    histogram[bin] = histogram[bin] + 1;
    if (x == width) {
        out[x + 1] = 0.0f;
    }
}
