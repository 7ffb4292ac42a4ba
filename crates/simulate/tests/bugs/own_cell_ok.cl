// Local memory as a work-item's own scratch, each in its column: no barrier needed.
kernel void own_cell_ok(global const int *in, global int *out, local int *scratch) {
    int i = get_global_id(0), l = get_local_id(0);
    for (int k = 0; k < 4; k++) scratch[16 * k + l] = in[i] >> k;
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += scratch[16 * k + l];
    out[i] = sum;
}
