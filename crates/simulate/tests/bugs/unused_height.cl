// The height is passed and never asked for: whose job was the check?
kernel void unused_height(global const float *in, global float *out, int width, int height)
//~^ NOTE unused-argument
{
    int at = get_global_id(1) * width + get_global_id(0);
    out[at] = 1.0f - in[at];
}

kernel void unused_height_ok(global const float *in, global float *out, int width, int height) {
    int at = get_global_id(1) * width + get_global_id(0);
    if (get_global_id(1) < height) out[at] = 1.0f - in[at];
}
