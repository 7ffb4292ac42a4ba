// A byte of header before four 16-bit fields puts every second record at an odd address.
kernel void record_header(global uchar *records) {
    int i = get_global_id(0);
    global uchar *record = records + 9 * i;
    record[0] = i;
    vstore4((ushort4)(i, i + 1, i + 2, i + 3), 0, (global ushort *)(record + 1)); //~ ERROR misaligned-vector
}

kernel void record_header_ok(global uchar *records) {
    int i = get_global_id(0);
    global uchar *record = records + 10 * i;
    record[0] = i;
    record[1] = 0;
    vstore4((ushort4)(i, i + 1, i + 2, i + 3), 0, (global ushort *)(record + 2));
}
