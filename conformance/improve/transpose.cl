kernel void transpose(global const float* in, global float* out, uint rows, uint cols)
{
    uint c = get_global_id(0), r = get_global_id(1);
    if (c < cols && r < rows) out[c * rows + r] = in[r * cols + c];
}
