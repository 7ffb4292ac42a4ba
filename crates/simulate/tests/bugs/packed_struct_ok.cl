// A packed struct says itself that its fields lie anywhere.
typedef struct __attribute__((packed)) {
    uchar tag;
    float value;
} Record;

kernel void packed_struct_ok(global const Record *records, global float *out) {
    int i = get_global_id(0);
    out[i] = records[i].tag ? -records[i].value : records[i].value;
}
