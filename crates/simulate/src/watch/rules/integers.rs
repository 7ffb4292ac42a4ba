//! Integer arithmetic without a useful result.

use tripipe_ir::diagnostic::{Rule, Severity};

/// An integer is divided by zero.
pub const DIVISION_BY_ZERO: Rule = Rule {
    code: "division-by-zero",
    severity: Severity::Error,
    title: "an integer is divided by zero",
    what: "`/` or `%` on integers, scalars or lanes of vectors, with a divisor of 0.",
    why: "
A GPU raises no exception: the result is some value that differs between devices. It is undefined in C and SPIR-V, so
compilers assume it does not happen, and may drop a test of the divisor that comes after the division.",
    example: "
__kernel void mean(__global const int *sum, __global const int *count, __global int *out) {
    int i = get_global_id(0);
    out[i] = sum[i] / count[i];
}",
    instead: "
__kernel void mean(__global const int *sum, __global const int *count, __global int *out) {
    int i = get_global_id(0);
    out[i] = count[i] > 0 ? sum[i] / count[i] : 0;
}",
    exceptions: "
When the result is discarded afterwards, for example by `select` on vectors. Make the divisor 1 in those lanes.",
    source: "
- OpenCL C 3.0, 6.5.1 Arithmetic Operators: no exception, an unspecified value.
- C99, 6.5.5, paragraph 5, and SPIR-V, `OpSDiv`, `OpUDiv`, `OpSRem`, `OpUMod`: undefined.",
    ..Rule::CHECK
};

/// A quotient does not fit its type.
pub const DIVISION_OVERFLOW: Rule = Rule {
    code: "division-overflow",
    severity: Severity::Error,
    title: "the smallest integer is divided by -1",
    what: "
`/` or `%` of the smallest value of a signed type, such as `INT_MIN`, by -1. The quotient is one more than the type can
hold.",
    why: "
The result is some value: the dividend itself on many devices, which is negative where the code expects a positive
number. SPIR-V calls it undefined, so compilers assume it does not happen.",
    example: "
__kernel void per_step(__global const int *distance, __global const int *step, __global int *out) {
    int i = get_global_id(0);
    out[i] = distance[i] / step[i];  // INT_MIN / -1
}",
    instead: "
__kernel void per_step(__global const int *distance, __global const int *step, __global int *out) {
    int i = get_global_id(0);
    out[i] = step[i] == -1 ? sub_sat(0, distance[i]) : distance[i] / step[i];
}",
    exceptions: "When the result is discarded afterwards.",
    source: "
- OpenCL C 3.0, 6.5.1 Arithmetic Operators: a quotient outside of the type's range is an unspecified value.
- SPIR-V, `OpSDiv` and `OpSRem`: undefined.",
    ..Rule::CHECK
};

/// A shift count is not below the width.
pub const SHIFT_PAST_WIDTH: Rule = Rule {
    code: "shift-past-width",
    severity: Severity::Warning,
    title: "a value is shifted by its width or more, or by a negative count",
    what: "
`<<` or `>>` with a count that is negative or not below the number of bits of the left operand (after promotion to `int`
for scalars, of one lane for vectors).",
    why: "
OpenCL C defines it, but not as most expect: only the lowest bits of the count are used, so `x << 32` of an `int` is
`x` and not 0. The same line is undefined in C, C++ and SPIR-V, and for constants compilers have been known to
disagree.",
    example: "
__kernel void masks(__global uint *out) {
    uint bits = get_global_id(0);  // 0 to 32
    out[bits] = (1u << bits) - 1;  // 32 bits: 0, not all ones
}",
    instead: "
__kernel void masks(__global uint *out) {
    uint bits = get_global_id(0);
    out[bits] = bits < 32 ? (1u << bits) - 1 : ~0u;
}",
    exceptions: "
When the wrapping count is intended, as in a hand-written rotation. Use `rotate(x, n)` or `n & 31` instead.",
    source: "
- OpenCL C 3.0, 6.5.10 Shift Operators: the count is taken modulo the width.
- C99, 6.5.7, paragraph 3, and SPIR-V, `OpShiftLeftLogical`: undefined.",
    ..Rule::CHECK
};

/// A sum, difference or product of signed integers does not fit its type.
pub const SIGNED_OVERFLOW: Rule = Rule {
    code: "signed-overflow",
    severity: Severity::Warning,
    title: "signed arithmetic overflows",
    what: "
A signed addition, subtraction or multiplication of 32 or 64 bits whose result does not fit its type. One that becomes part
of an address is `address-overflow`, an error.",
    why: "
Overflow of signed integers is undefined. The hardware wraps, but a compiler may assume that `x + 1 > x` is true,
compute in 64 bits, or drop a test that would have detected it, and another driver or another version of it may decide
differently.",
    example: "
__kernel void energy(__global const int *sample, __global int *out) {
    int i = get_global_id(0);
    out[i] = sample[i] * sample[i];  // does not fit from 46341 on
}",
    advice: "Compute in a wider type, or compute in `uint` if wrapping is intended.",
    instead: "
__kernel void energy(__global const int *sample, __global long *out) {
    int i = get_global_id(0);
    out[i] = (long)sample[i] * sample[i];
}",
    exceptions: "
Never by the language. Hashes and random numbers that wrap on purpose belong in unsigned types, which wrap by
definition.",
    source: "- C99, 6.5, paragraph 5: a result that its type cannot represent makes the behavior undefined.",
    ..Rule::CHECK
};
