//! Special values from C99 (TC2), sections F.9.1 to F.9.11, and from the OpenCL C specification 3.0, section 7.5.1
//! "Additional Requirements Beyond C99 TC2". Where a row says "any x", the tests try several.

use half::f16;
use tripipe_ir::op::Builtin;
use tripipe_simulate::math;

use crate::math::kind::Kind;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// Applies to both signs of the operand.
const BOTH: bool = true;
const ONE: bool = false;

/// The same number with the same sign, or a quiet NaN for NaN.
fn check<T: Kind>(what: &str, got: T, want: f64) {
    let number = got.to_f64();
    let same = number == want && number.is_sign_negative() == want.is_sign_negative();
    let quiet = number.is_nan() && got.bits() >> (T::PRECISION - 2) & 1 == 1;
    assert!(same || (want.is_nan() && quiet), "{what} of {} is {number}, not {want}", T::NAME);
}

/// Function, operand, result; with `BOTH`, the negated operand gives the negated result.
const OF_ONE: &[(Builtin, f64, f64, bool)] = &[
    // C99 F.9.1: trigonometry
    (Builtin::Acos, 1.0, 0.0, ONE),
    (Builtin::Acos, 1.5, NAN, BOTH),
    (Builtin::Acos, INF, NAN, BOTH),
    (Builtin::Asin, 0.0, 0.0, BOTH),
    (Builtin::Asin, 1.5, NAN, BOTH),
    (Builtin::Asin, INF, NAN, BOTH),
    (Builtin::Atan, 0.0, 0.0, BOTH),
    (Builtin::Cos, 0.0, 1.0, ONE),
    (Builtin::Cos, -0.0, 1.0, ONE),
    (Builtin::Cos, INF, NAN, BOTH),
    (Builtin::Sin, 0.0, 0.0, BOTH),
    (Builtin::Sin, INF, NAN, BOTH),
    (Builtin::Tan, 0.0, 0.0, BOTH),
    (Builtin::Tan, INF, NAN, BOTH),
    // F.9.2: hyperbolic functions
    (Builtin::Acosh, 1.0, 0.0, ONE),
    (Builtin::Acosh, 0.5, NAN, ONE),
    (Builtin::Acosh, -3.0, NAN, ONE),
    (Builtin::Acosh, INF, INF, ONE),
    (Builtin::Acosh, -INF, NAN, ONE),
    (Builtin::Asinh, 0.0, 0.0, BOTH),
    (Builtin::Asinh, INF, INF, BOTH),
    (Builtin::Atanh, 0.0, 0.0, BOTH),
    (Builtin::Atanh, 1.0, INF, BOTH),
    (Builtin::Atanh, 1.5, NAN, BOTH),
    (Builtin::Atanh, INF, NAN, BOTH),
    (Builtin::Cosh, 0.0, 1.0, ONE),
    (Builtin::Cosh, -0.0, 1.0, ONE),
    (Builtin::Cosh, INF, INF, ONE),
    (Builtin::Cosh, -INF, INF, ONE),
    (Builtin::Sinh, 0.0, 0.0, BOTH),
    (Builtin::Sinh, INF, INF, BOTH),
    (Builtin::Tanh, 0.0, 0.0, BOTH),
    (Builtin::Tanh, INF, 1.0, BOTH),
    // F.9.3: exponentials and logarithms
    (Builtin::Exp, 0.0, 1.0, ONE),
    (Builtin::Exp, -0.0, 1.0, ONE),
    (Builtin::Exp, -INF, 0.0, ONE),
    (Builtin::Exp, INF, INF, ONE),
    (Builtin::Exp2, 0.0, 1.0, ONE),
    (Builtin::Exp2, -0.0, 1.0, ONE),
    (Builtin::Exp2, -INF, 0.0, ONE),
    (Builtin::Exp2, INF, INF, ONE),
    (Builtin::Exp10, 0.0, 1.0, ONE),
    (Builtin::Exp10, -0.0, 1.0, ONE),
    (Builtin::Exp10, -INF, 0.0, ONE),
    (Builtin::Exp10, INF, INF, ONE),
    (Builtin::Expm1, 0.0, 0.0, BOTH),
    (Builtin::Expm1, -INF, -1.0, ONE),
    (Builtin::Expm1, INF, INF, ONE),
    (Builtin::Frexp, 0.0, 0.0, BOTH),
    (Builtin::Frexp, INF, INF, BOTH),
    (Builtin::Log, 0.0, -INF, ONE),
    (Builtin::Log, -0.0, -INF, ONE),
    (Builtin::Log, 1.0, 0.0, ONE),
    (Builtin::Log, -1.0, NAN, ONE),
    (Builtin::Log, INF, INF, ONE),
    (Builtin::Log, -INF, NAN, ONE),
    (Builtin::Log2, 0.0, -INF, ONE),
    (Builtin::Log2, -0.0, -INF, ONE),
    (Builtin::Log2, 1.0, 0.0, ONE),
    (Builtin::Log2, -1.0, NAN, ONE),
    (Builtin::Log2, INF, INF, ONE),
    (Builtin::Log10, 0.0, -INF, ONE),
    (Builtin::Log10, -0.0, -INF, ONE),
    (Builtin::Log10, 1.0, 0.0, ONE),
    (Builtin::Log10, -1.0, NAN, ONE),
    (Builtin::Log10, INF, INF, ONE),
    (Builtin::Log1p, 0.0, 0.0, BOTH),
    (Builtin::Log1p, -1.0, -INF, ONE),
    (Builtin::Log1p, -2.0, NAN, ONE),
    (Builtin::Log1p, INF, INF, ONE),
    (Builtin::Logb, 0.0, -INF, ONE),
    (Builtin::Logb, -0.0, -INF, ONE),
    (Builtin::Logb, INF, INF, ONE),
    (Builtin::Logb, -INF, INF, ONE),
    (Builtin::Modf, INF, 0.0, BOTH),
    (Builtin::Modf, 0.0, 0.0, BOTH),
    (Builtin::Modf, 3.0, 0.0, BOTH),
    // F.9.4: roots
    (Builtin::Cbrt, 0.0, 0.0, BOTH),
    (Builtin::Cbrt, INF, INF, BOTH),
    (Builtin::Fabs, -0.0, 0.0, ONE),
    (Builtin::Fabs, -INF, INF, ONE),
    (Builtin::Sqrt, 0.0, 0.0, BOTH),
    (Builtin::Sqrt, INF, INF, ONE),
    (Builtin::Sqrt, -1.0, NAN, ONE),
    // F.9.5: error and gamma functions
    (Builtin::Erf, 0.0, 0.0, BOTH),
    (Builtin::Erf, INF, 1.0, BOTH),
    (Builtin::Erfc, -INF, 2.0, ONE),
    (Builtin::Erfc, INF, 0.0, ONE),
    (Builtin::Lgamma, 1.0, 0.0, ONE),
    (Builtin::Lgamma, 2.0, 0.0, ONE),
    (Builtin::Lgamma, 0.0, INF, ONE),
    (Builtin::Lgamma, -0.0, INF, ONE),
    (Builtin::Lgamma, -3.0, INF, ONE),
    (Builtin::Lgamma, INF, INF, ONE),
    (Builtin::Lgamma, -INF, INF, ONE),
    (Builtin::Tgamma, 0.0, INF, BOTH),
    (Builtin::Tgamma, -1.0, NAN, ONE),
    (Builtin::Tgamma, -4.0, NAN, ONE),
    (Builtin::Tgamma, INF, INF, ONE),
    (Builtin::Tgamma, -INF, NAN, ONE),
    (Builtin::Tgamma, 1.0, 1.0, ONE),
    (Builtin::Tgamma, 6.0, 120.0, ONE),
    // F.9.6: to integers; OpenCL: zeros keep the sign of the rounded number
    (Builtin::Ceil, 0.0, 0.0, BOTH),
    (Builtin::Ceil, INF, INF, BOTH),
    (Builtin::Ceil, -0.25, -0.0, ONE),
    (Builtin::Floor, 0.0, 0.0, BOTH),
    (Builtin::Floor, INF, INF, BOTH),
    (Builtin::Rint, 0.0, 0.0, BOTH),
    (Builtin::Rint, INF, INF, BOTH),
    (Builtin::Rint, -0.5, -0.0, ONE),
    (Builtin::Rint, 2.5, 2.0, BOTH),
    (Builtin::Round, 0.0, 0.0, BOTH),
    (Builtin::Round, INF, INF, BOTH),
    (Builtin::Round, -0.25, -0.0, ONE),
    (Builtin::Round, 0.5, 1.0, BOTH),
    (Builtin::Round, 2.5, 3.0, BOTH),
    (Builtin::Trunc, 0.0, 0.0, BOTH),
    (Builtin::Trunc, INF, INF, BOTH),
    (Builtin::Trunc, -0.75, -0.0, ONE),
    // OpenCL 7.5.1
    (Builtin::Acospi, 1.0, 0.0, ONE),
    (Builtin::Acospi, 1.5, NAN, BOTH),
    (Builtin::Asinpi, 0.0, 0.0, BOTH),
    (Builtin::Asinpi, 1.5, NAN, BOTH),
    (Builtin::Atanpi, 0.0, 0.0, BOTH),
    (Builtin::Atanpi, INF, 0.5, BOTH),
    (Builtin::Cospi, 0.0, 1.0, ONE),
    (Builtin::Cospi, -0.0, 1.0, ONE),
    (Builtin::Cospi, 0.5, 0.0, ONE),
    (Builtin::Cospi, -0.5, 0.0, ONE),
    (Builtin::Cospi, 1.5, 0.0, ONE),
    (Builtin::Cospi, -1.5, 0.0, ONE),
    (Builtin::Cospi, 1000.5, 0.0, ONE),
    (Builtin::Cospi, INF, NAN, BOTH),
    (Builtin::Fract, 0.0, 0.0, BOTH),
    (Builtin::Fract, INF, 0.0, BOTH),
    (Builtin::Fract, -3.0, 0.0, ONE),
    (Builtin::Sinpi, 0.0, 0.0, BOTH),
    (Builtin::Sinpi, 1.0, 0.0, BOTH),
    (Builtin::Sinpi, 2.0, 0.0, BOTH),
    (Builtin::Sinpi, 7.0, 0.0, BOTH),
    (Builtin::Sinpi, 0.5, 1.0, BOTH),
    (Builtin::Sinpi, INF, NAN, BOTH),
    (Builtin::Tanpi, 0.0, 0.0, BOTH),
    (Builtin::Tanpi, INF, NAN, BOTH),
    (Builtin::Tanpi, 2.0, 0.0, BOTH),
    (Builtin::Tanpi, 1.0, -0.0, BOTH),
    (Builtin::Tanpi, 7.0, -0.0, BOTH),
    (Builtin::Tanpi, 0.5, INF, ONE),
    (Builtin::Tanpi, -0.5, -INF, ONE),
    (Builtin::Tanpi, 1.5, -INF, ONE),
    (Builtin::Tanpi, -1.5, INF, ONE),
    (Builtin::Tanpi, 1000.5, INF, ONE),
    // OpenCL 6.15.3, common functions
    (Builtin::Sign, 0.0, 0.0, BOTH),
    (Builtin::Sign, 2.0, 1.0, BOTH),
    (Builtin::Sign, INF, 1.0, BOTH),
    (Builtin::Degrees, INF, INF, BOTH),
    (Builtin::Radians, 0.0, 0.0, BOTH),
    // Not in the specification: 1 / sqrt(x) of IEEE 754
    (Builtin::Rsqrt, 0.0, INF, BOTH),
    (Builtin::Rsqrt, INF, 0.0, ONE),
    (Builtin::Rsqrt, -1.0, NAN, ONE),
];

/// Function, operands, result.
const OF_TWO: &[(Builtin, f64, f64, f64)] = &[
    // C99 F.9.1.4: y, x
    (Builtin::Atan2, 0.0, 0.0, 0.0),
    (Builtin::Atan2, -0.0, 0.0, -0.0),
    (Builtin::Atan2, 0.0, 5.0, 0.0),
    (Builtin::Atan2, -0.0, 5.0, -0.0),
    (Builtin::Atan2, 5.0, INF, 0.0),
    (Builtin::Atan2, -5.0, INF, -0.0),
    // OpenCL 7.5.1
    (Builtin::Atan2pi, 0.0, -0.0, 1.0),
    (Builtin::Atan2pi, -0.0, -0.0, -1.0),
    (Builtin::Atan2pi, 0.0, 0.0, 0.0),
    (Builtin::Atan2pi, -0.0, 0.0, -0.0),
    (Builtin::Atan2pi, 0.0, -5.0, 1.0),
    (Builtin::Atan2pi, -0.0, -5.0, -1.0),
    (Builtin::Atan2pi, 0.0, 5.0, 0.0),
    (Builtin::Atan2pi, -0.0, 5.0, -0.0),
    (Builtin::Atan2pi, -5.0, 0.0, -0.5),
    (Builtin::Atan2pi, -5.0, -0.0, -0.5),
    (Builtin::Atan2pi, 5.0, 0.0, 0.5),
    (Builtin::Atan2pi, 5.0, -0.0, 0.5),
    (Builtin::Atan2pi, 5.0, -INF, 1.0),
    (Builtin::Atan2pi, -5.0, -INF, -1.0),
    (Builtin::Atan2pi, 5.0, INF, 0.0),
    (Builtin::Atan2pi, -5.0, INF, -0.0),
    (Builtin::Atan2pi, INF, 5.0, 0.5),
    (Builtin::Atan2pi, -INF, 5.0, -0.5),
    (Builtin::Atan2pi, INF, -INF, 0.75),
    (Builtin::Atan2pi, -INF, -INF, -0.75),
    (Builtin::Atan2pi, INF, INF, 0.25),
    (Builtin::Atan2pi, -INF, INF, -0.25),
    (Builtin::Atan2pi, NAN, 1.0, NAN),
    // C99 F.9.4.3
    (Builtin::Hypot, 5.0, 0.0, 5.0),
    (Builtin::Hypot, -5.0, -0.0, 5.0),
    (Builtin::Hypot, INF, NAN, INF),
    (Builtin::Hypot, NAN, -INF, INF),
    (Builtin::Hypot, NAN, 5.0, NAN),
    // C99 F.9.4.4, and OpenCL's pow(zero, -infinity)
    (Builtin::Pow, 0.0, -3.0, INF),
    (Builtin::Pow, -0.0, -3.0, -INF),
    (Builtin::Pow, 0.0, -2.5, INF),
    (Builtin::Pow, -0.0, -2.0, INF),
    (Builtin::Pow, 0.0, -INF, INF),
    (Builtin::Pow, -0.0, -INF, INF),
    (Builtin::Pow, 0.0, 3.0, 0.0),
    (Builtin::Pow, -0.0, 3.0, -0.0),
    (Builtin::Pow, 0.0, 2.5, 0.0),
    (Builtin::Pow, -0.0, 2.0, 0.0),
    (Builtin::Pow, -1.0, INF, 1.0),
    (Builtin::Pow, -1.0, -INF, 1.0),
    (Builtin::Pow, 1.0, NAN, 1.0),
    (Builtin::Pow, 1.0, INF, 1.0),
    (Builtin::Pow, NAN, 0.0, 1.0),
    (Builtin::Pow, NAN, -0.0, 1.0),
    (Builtin::Pow, 0.0, 0.0, 1.0),
    (Builtin::Pow, INF, 0.0, 1.0),
    (Builtin::Pow, -2.0, 2.5, NAN),
    (Builtin::Pow, 0.5, -INF, INF),
    (Builtin::Pow, 2.0, -INF, 0.0),
    (Builtin::Pow, 0.5, INF, 0.0),
    (Builtin::Pow, 2.0, INF, INF),
    (Builtin::Pow, -INF, -3.0, -0.0),
    (Builtin::Pow, -INF, -2.0, 0.0),
    (Builtin::Pow, -INF, 3.0, -INF),
    (Builtin::Pow, -INF, 2.5, INF),
    (Builtin::Pow, INF, -1.5, 0.0),
    (Builtin::Pow, INF, 1.5, INF),
    (Builtin::Pow, NAN, 1.0, NAN),
    (Builtin::Pow, 2.0, NAN, NAN),
    // OpenCL 7.5.1
    (Builtin::Powr, 3.0, 0.0, 1.0),
    (Builtin::Powr, 3.0, -0.0, 1.0),
    (Builtin::Powr, 0.0, -2.0, INF),
    (Builtin::Powr, -0.0, -3.0, INF),
    (Builtin::Powr, 0.0, -INF, INF),
    (Builtin::Powr, -0.0, -INF, INF),
    (Builtin::Powr, 0.0, 2.0, 0.0),
    (Builtin::Powr, -0.0, 3.0, 0.0),
    (Builtin::Powr, 0.0, INF, 0.0),
    (Builtin::Powr, 1.0, 5.0, 1.0),
    (Builtin::Powr, -2.0, 2.0, NAN),
    (Builtin::Powr, -INF, 2.0, NAN),
    (Builtin::Powr, 0.0, 0.0, NAN),
    (Builtin::Powr, -0.0, -0.0, NAN),
    (Builtin::Powr, INF, 0.0, NAN),
    (Builtin::Powr, INF, -0.0, NAN),
    (Builtin::Powr, 1.0, INF, NAN),
    (Builtin::Powr, 1.0, -INF, NAN),
    (Builtin::Powr, 2.0, NAN, NAN),
    (Builtin::Powr, 0.0, NAN, NAN),
    (Builtin::Powr, NAN, 2.0, NAN),
    (Builtin::Powr, NAN, 0.0, NAN),
    // C99 F.9.7, and OpenCL's fmod(zero, NaN)
    (Builtin::Fmod, 0.0, 5.0, 0.0),
    (Builtin::Fmod, -0.0, 5.0, -0.0),
    (Builtin::Fmod, INF, 5.0, NAN),
    (Builtin::Fmod, 5.0, 0.0, NAN),
    (Builtin::Fmod, 5.0, INF, 5.0),
    (Builtin::Fmod, -5.0, -INF, -5.0),
    (Builtin::Fmod, -6.0, 4.0, -2.0),
    (Builtin::Fmod, 0.0, NAN, NAN),
    (Builtin::Remainder, 5.0, 0.0, NAN),
    (Builtin::Remainder, INF, 5.0, NAN),
    (Builtin::Remainder, -8.0, 4.0, -0.0),
    (Builtin::Remainder, 6.0, 4.0, -2.0),
    (Builtin::Remquo, 5.0, 0.0, NAN),
    (Builtin::Remquo, INF, 5.0, NAN),
    (Builtin::Remquo, 5.0, NAN, NAN),
    // OpenCL 7.5.1
    (Builtin::Fdim, 5.0, NAN, NAN),
    (Builtin::Fdim, NAN, 5.0, NAN),
    (Builtin::Fdim, INF, INF, 0.0),
    // C99 F.9.9
    (Builtin::Fmax, NAN, 5.0, 5.0),
    (Builtin::Fmax, 5.0, NAN, 5.0),
    (Builtin::Fmax, NAN, NAN, NAN),
    (Builtin::Fmin, NAN, 5.0, 5.0),
    (Builtin::Fmin, 5.0, NAN, 5.0),
    (Builtin::Fmin, NAN, NAN, NAN),
    (Builtin::Maxmag, -3.0, 2.0, -3.0),
    (Builtin::Maxmag, -3.0, 3.0, 3.0),
    (Builtin::Minmag, -3.0, 2.0, 2.0),
    (Builtin::Minmag, -3.0, 3.0, -3.0),
    (Builtin::Minmag, NAN, 3.0, 3.0),
    (Builtin::Nextafter, 5.0, 5.0, 5.0),
    (Builtin::Nextafter, NAN, 5.0, NAN),
    (Builtin::Nextafter, 5.0, NAN, NAN),
    (Builtin::Copysign, 3.0, -0.0, -3.0),
    (Builtin::Step, 1.0, 0.5, 0.0),
    (Builtin::Step, 1.0, 1.0, 1.0),
];

/// Function, operand, integer, result: OpenCL 7.5.1.
const OF_INTEGERS: &[(Builtin, f64, i32, f64)] = &[
    (Builtin::Pown, 0.0, 0, 1.0),
    (Builtin::Pown, -0.0, 0, 1.0),
    (Builtin::Pown, NAN, 0, 1.0),
    (Builtin::Pown, INF, 0, 1.0),
    (Builtin::Pown, -INF, 0, 1.0),
    (Builtin::Pown, 0.0, -3, INF),
    (Builtin::Pown, -0.0, -3, -INF),
    (Builtin::Pown, 0.0, -4, INF),
    (Builtin::Pown, -0.0, -4, INF),
    (Builtin::Pown, 0.0, 4, 0.0),
    (Builtin::Pown, -0.0, 4, 0.0),
    (Builtin::Pown, 0.0, 3, 0.0),
    (Builtin::Pown, -0.0, 3, -0.0),
    (Builtin::Pown, -2.0, 3, -8.0),
    (Builtin::Pown, -1.0, i32::MAX, -1.0),
    (Builtin::Pown, -1.0, i32::MIN, 1.0),
    (Builtin::Rootn, 0.0, -3, INF),
    (Builtin::Rootn, -0.0, -3, -INF),
    (Builtin::Rootn, 0.0, -4, INF),
    (Builtin::Rootn, -0.0, -4, INF),
    (Builtin::Rootn, 0.0, 4, 0.0),
    (Builtin::Rootn, -0.0, 4, 0.0),
    (Builtin::Rootn, 0.0, 3, 0.0),
    (Builtin::Rootn, -0.0, 3, -0.0),
    (Builtin::Rootn, -8.0, 2, NAN),
    (Builtin::Rootn, -8.0, -2, NAN),
    (Builtin::Rootn, -8.0, 3, -2.0),
    (Builtin::Rootn, 8.0, 0, NAN),
    (Builtin::Rootn, 0.0, 0, NAN),
    (Builtin::Rootn, NAN, 3, NAN),
    (Builtin::Rootn, INF, 2, INF),
    (Builtin::Rootn, -INF, 3, -INF),
    (Builtin::Rootn, INF, -2, 0.0),
    (Builtin::Ldexp, 0.0, i32::MAX, 0.0),
    (Builtin::Ldexp, -0.0, 3, -0.0),
    (Builtin::Ldexp, INF, i32::MIN, INF),
    (Builtin::Ldexp, NAN, 3, NAN),
    (Builtin::Ldexp, 1.0, i32::MAX, INF),
    (Builtin::Ldexp, -1.0, i32::MIN, -0.0),
];

fn rows<T: Kind>() {
    for &(builtin, x, want, both) in OF_ONE {
        let function = math::float1::<T>(builtin).unwrap();
        check(&format!("{builtin:?}({x})"), function(T::nearest(x)), want);
        if both {
            check(&format!("{builtin:?}(-{x})"), function(T::nearest(-x)), -want);
        }
    }
    for &(builtin, x, y, want) in OF_TWO {
        let function = math::float2::<T>(builtin).unwrap();
        check(&format!("{builtin:?}({x}, {y})"), function(T::nearest(x), T::nearest(y)), want);
    }
    for &(builtin, x, n, want) in OF_INTEGERS {
        let function = math::float_int::<T>(builtin).unwrap();
        check(&format!("{builtin:?}({x}, {n})"), function(T::nearest(x), n), want);
    }
    // C99 F.9: NaN gives NaN for every function of one operand except `sign`.
    for &builtin in Builtin::ALL {
        if let Some(function) = math::float1::<T>(builtin) {
            let want = if builtin == Builtin::Sign { 0.0 } else { NAN };
            check(&format!("{builtin:?}(NaN)"), function(T::nearest(NAN)), want);
        }
    }
    // C99 F.9.1: pi and its fractions, rounded.
    let pi = core::f64::consts::PI;
    let near = |x: f64| T::nearest(x).to_f64();
    let acos = math::float1::<T>(Builtin::Acos).unwrap();
    check("acos(-1)", acos(T::nearest(-1.0)), near(pi));
    let atan = math::float1::<T>(Builtin::Atan).unwrap();
    check("atan(infinity)", atan(T::nearest(INF)), near(pi / 2.0));
    let atan2 = math::float2::<T>(Builtin::Atan2).unwrap();
    for (y, x, want) in [
        (0.0, -0.0, pi),
        (0.0, -5.0, pi),
        (5.0, 0.0, pi / 2.0),
        (5.0, -0.0, pi / 2.0),
        (5.0, -INF, pi),
        (INF, 5.0, pi / 2.0),
        (INF, -INF, 0.75 * pi),
        (INF, INF, pi / 4.0),
    ] {
        check(&format!("atan2({y}, {x})"), atan2(T::nearest(y), T::nearest(x)), near(want));
        check(&format!("atan2(-{y}, {x})"), atan2(T::nearest(-y), T::nearest(x)), near(-want));
    }
    // OpenCL 7.5.1: always below 1, never below 0.
    let fract = math::float1::<T>(Builtin::Fract).unwrap();
    let least = T::of(1);
    let below_one = 1.0 - 2f64.powi(-(T::PRECISION as i32));
    check("fract of the number below 0", fract(T::nearest(-least.to_f64())), below_one);
    // OpenCL 7.5.1: the smallest subnormals.
    let nextafter = math::float2::<T>(Builtin::Nextafter).unwrap();
    check("nextafter(-0, 1)", nextafter(T::nearest(-0.0), T::nearest(1.0)), least.to_f64());
    check("nextafter(+0, -1)", nextafter(T::nearest(0.0), T::nearest(-1.0)), -least.to_f64());
    // OpenCL 6.15.2: round of the number below 0.5 is 0, though adding 0.5 would give 1.
    let round = math::float1::<T>(Builtin::Round).unwrap();
    let half = T::nearest(0.5).bits();
    check("round of the number below 0.5", round(T::of(half - 1)), 0.0);
}

#[test]
fn half() {
    rows::<f16>();
}

#[test]
fn single() {
    rows::<f32>();
}

#[test]
fn double() {
    rows::<f64>();
}
