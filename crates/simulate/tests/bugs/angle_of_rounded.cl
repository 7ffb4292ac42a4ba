// The cosine of an angle, rounded to a little over 1.
kernel void angle_of_rounded(global const float *cosines, global float *angles) {
    int i = get_global_id(0);
    angles[i] = acos(cosines[i]); //~ WARNING nan-born
}

kernel void angle_of_rounded_ok(global const float *cosines, global float *angles) {
    int i = get_global_id(0);
    angles[i] = acos(clamp(cosines[i], -1.0f, 1.0f));
}
