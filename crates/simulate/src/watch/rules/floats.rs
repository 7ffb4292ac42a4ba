//! Floating-point results that are probably unintended.

use tripipe_ir::diagnostic::{Rule, Severity};

/// A floating-point number does not fit the integer it is converted to.
pub const FLOAT_TO_INT_RANGE: Rule = Rule {
    code: "float-to-int-range",
    severity: Severity::Warning,
    title: "a floating-point number does not fit the integer type it is converted to",
    what: "
A conversion of a floating-point number to an integer type that cannot hold it: too large, too small (a negative one to
an unsigned type), infinite or NaN. `convert_..._sat` is exempt.",
    why: "
The result depends on the device: the nearest value on one GPU, the lowest bits or the smallest integer on another.
SPIR-V calls it undefined. A pixel that is a bit too bright may turn black.",
    example: "
__kernel void to_bytes(__global const float *in, __global uchar *out) {
    int i = get_global_id(0);
    out[i] = (uchar)(255.0f * in[i]);  // above 1 or below 0 anything comes out
}",
    advice: "Saturating conversion is one instruction on most GPUs, and turns NaN into 0.",
    instead: "
__kernel void to_bytes(__global const float *in, __global uchar *out) {
    int i = get_global_id(0);
    out[i] = convert_uchar_sat(255.0f * in[i]);
}",
    exceptions: "When the result is discarded afterwards.",
    source: "
- OpenCL C 3.0, 6.4.3.3 Out-of-Range Behavior and Saturated Conversions: implementation-defined.
- C99, 6.3.1.4, paragraph 1, and SPIR-V, `OpConvertFToS` and `OpConvertFToU`: undefined.",
    ..Rule::CHECK
};

/// A half-precision result is infinite.
pub const HALF_OVERFLOW: Rule = Rule {
    code: "half-overflow",
    severity: Severity::Warning,
    title: "a half-precision result is infinite though its operands are finite",
    what: "
An operation on `half`, or a conversion to it, that returns infinity for finite operands. The largest finite `half` is
65504. A division by zero counts.",
    why: "
65504 is easily exceeded: by the square of 256, or by the sum of 300 bytes. An infinite value makes sums infinite and
differences NaN. GPUs have twice the rate for `half`, so kernels are ported to it, and fail only for bright pixels.",
    example: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void energy(__global const half *in, __global half *out) {
    int i = get_global_id(0);
    out[i] = in[i] * in[i];  // 256 * 256 is infinite
}",
    advice: "Scale the data so that results fit, or compute in `float` and convert at the end.",
    instead: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void energy(__global const half *in, __global half *out) {
    int i = get_global_id(0);
    float x = (float)in[i] / 256.0f;
    out[i] = (half)(x * x);
}",
    exceptions: "When infinity is a meaningful result: a depth without a surface, the start value of a minimum.",
    source: "- OpenCL C 3.0, 6.3.1, The `half` Data Type: IEEE 754-2008 binary16, with infinities. 7.1 Rounding Modes.",
    ..Rule::CHECK
};

/// A half-precision result is zero or subnormal although the exact result is not zero.
pub const HALF_UNDERFLOW: Rule = Rule {
    code: "half-underflow",
    severity: Severity::Note,
    title: "a half-precision result is too small for a normal number",
    what: "
An operation on `half`, or a conversion to it, whose exact result is not zero and is below the smallest normal `half`,
2^-14 (about 0.000061): it becomes a subnormal number or zero.",
    why: "
A subnormal `half` has fewer bits the smaller it is, and below 2^-25 it is zero. Devices that do not support subnormal
numbers return zero from 2^-14 on. A weight, a step or a variance that vanishes like this shows only as a wrong
result.",
    example: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void descend(__global half *weight, __global const half *gradient) {
    int i = get_global_id(0);
    half change = (half)0.001f * gradient[i];  // a gradient of 0.01 gives 0.00001
    weight[i] -= change;
}",
    advice: "Keep small factors out of `half`: scale the data up, or compute in `float`.",
    instead: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void descend(__global float *weight, __global const half *gradient) {
    int i = get_global_id(0);
    weight[i] -= 0.001f * (float)gradient[i];
}",
    exceptions: "Often: vanishing values are harmless where they are added to larger ones. Therefore it is a note.",
    source: "
- OpenCL C 3.0, 6.3.1, The `half` Data Type: IEEE 754-2008 binary16. 7.2 INF, NaN and Denormalized Numbers.",
    ..Rule::CHECK
};

/// A sum has become too large for what is added to it.
pub const ACCURACY_LOST: Rule = Rule {
    code: "accuracy-lost",
    severity: Severity::Warning,
    title: "a sum in a loop loses what is added to it, because it has become too large for its type",
    what: "
A sum of `half` or `float` in a loop whose rounding errors together are at least 5 % of it. Above 2048, `half` has only
even numbers, above 16384 only multiples of 16: adding 6.5 changes nothing. `float` reaches that at 2^24 times the number.
Sums whose next number depends on the sum so far are exempt: filters with feedback, and compensated sums.",
    why: "
The sum stops growing, without infinity or NaN: a mean of many values is too small, by a factor that depends on their
number. It is right for small inputs and wrong for large ones.",
    example: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void mean(__global const half *in, __global half *out, int n) {
    half sum = 0;
    for (int k = 0; k < n; k++)
        sum += in[k];  // stops growing at 2048 times the numbers
    out[0] = sum / (half)n;
}",
    advice: "Sum in `float`, which costs a conversion, or in parts that stay small.",
    instead: "
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void mean(__global const half *in, __global half *out, int n) {
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += (float)in[k];
    out[0] = (half)(sum / (float)n);
}",
    exceptions: "When the last digits of the sum do not matter, such as in a weight that saturates on purpose.",
    source: "
- N. J. Higham, Accuracy and Stability of Numerical Algorithms, chapter 4, Summation: the error of recursive summation
  grows with the number of terms.",
    ..Rule::CHECK
};

/// An operation makes a NaN from operands that are not NaN.
pub const NAN_BORN: Rule = Rule {
    code: "nan-born",
    severity: Severity::Warning,
    title: "an operation returns NaN although no operand is NaN",
    what: "
The operation that creates a NaN: 0/0, infinity minus infinity, 0 times infinity, the root or logarithm of a negative
number, `pow` of one. Operations that pass on a NaN are not reported.",
    why: "
A NaN poisons every sum it enters, compares unequal to itself, and makes the results of `min`, `max` and branches
unpredictable. With `-cl-finite-math-only`, which `-cl-fast-relaxed-math` contains, not even the NaN is reliable.",
    example: "
__kernel void unit(__global float4 *v) {
    int i = get_global_id(0);
    v[i] = v[i] / length(v[i]);  // 0/0 for the zero vector
}",
    instead: "
__kernel void unit(__global float4 *v) {
    int i = get_global_id(0);
    v[i] = v[i] / fmax(length(v[i]), FLT_MIN);
}",
    exceptions: "
When NaN is used as a marker, for example for a missing value. `nan(0)` makes one without an operation.",
    source: "
- OpenCL C 3.0, 7.2 INF, NaN and Denormalized Numbers: they must be supported. 7.3 Floating-Point Exceptions: nothing
  traps, results are those of IEEE 754.",
    ..Rule::CHECK
};
