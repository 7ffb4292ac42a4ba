// Through local memory: rows are read and rows are written. The 17th column keeps a column's numbers in separate banks.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void turn(global const float *from, global float *to, int width, int height) {
    local float part[16][17];
    int x = get_local_id(0), y = get_local_id(1);
    int left = 16 * get_group_id(0), top = 16 * get_group_id(1);
    part[y][x] = from[(top + y) * width + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[(left + y) * height + top + x] = part[x][y];
}
