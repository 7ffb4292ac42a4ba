// The brightest of a pixel's row of samples, and its position.
__kernel void brightest(__global const uchar *samples, __global uchar *value, __global int *place, int pixels, int count)
{
    uint i = get_global_id(0);
    if (i >= pixels)
        return;
    uchar best = 0;
    int where = -1;
    for (int s = 0; s < count; ++s) {
        uchar v = samples[s * pixels + i];
        if (v > best) {
            best = v;
            where = s;
        }
    }
    value[i] = best;
    place[i] = where;
}
