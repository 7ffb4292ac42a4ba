// Three channels are set, four are stored.
kernel void alpha_unset(global const float *gray, global float4 *rgba) {
    int i = get_global_id(0);
    float4 pixel;
    pixel.xyz = (float3)(gray[i]);
    rgba[i] = pixel; //~ ERROR uninitialised-value
}

kernel void alpha_unset_ok(global const float *gray, global float4 *rgba) {
    int i = get_global_id(0);
    float4 pixel;
    pixel.xyz = (float3)(gray[i]);
    pixel.w = 1.0f;
    rgba[i] = pixel;
}
