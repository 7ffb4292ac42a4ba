// Odd work-items read an element that nobody has written, and choose another value instead. The texel that is read then
// has nothing to do with it.
kernel void unset_texel_not_chosen_ok(read_only image2d_t image, global float4 *out, int odd) {
    float4 table[2];
    table[0] = (float4)(7);
    int i = get_global_id(0);
    float4 value = table[i & odd];
    bool even = (i & odd) == 0;
    float4 chosen = even ? value : (float4)(0);
    float4 texel = read_imagef(image, (int2)(i, 0));
    out[i] = chosen + texel;
}
