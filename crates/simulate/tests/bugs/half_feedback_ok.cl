// Not lost: a filter with feedback forgets its errors, a compensated sum adds them, and errors of random sign cancel.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void half_feedback_ok(global const half *in, global half *out) {
    half smooth = 0, sum = 0, rest = 0, noise = 2000;
    for (int k = 0; k < 4096; k++) {
        smooth += (half)0.001f * (in[k] - smooth);
        half next = in[k] - rest, all = sum + next;
        rest = (all - sum) - next;
        sum = all;
        noise += (k & 1) ? in[k] : -in[k];
    }
    out[0] = smooth;
    out[1] = sum;
    out[2] = noise;
}
