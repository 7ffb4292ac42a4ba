// Structs copied whole take their padding along.
typedef struct {
    uchar tag;
    float value;
} Cell;

kernel void struct_padding_ok(global const float *in, global Cell *out, local Cell *tile) {
    int i = get_global_id(0), l = get_local_id(0);
    Cell cell;
    cell.tag = l;
    cell.value = in[i];
    tile[l] = cell;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[15 - l];
}
