//! Functions of `double`: those of `libm`, and additional ones.

pub use libm::{
    acos, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, erfc, exp, exp2, expm1, hypot, ldexp,
    lgamma, log, log1p, log2, log10, sin, sinh, tan, tanh,
};

use core::f64::consts::PI;

/// Significand in [0.5, 1) and exponent; the exponent of zeros, infinities and NaNs is 0.
#[inline(always)]
pub fn frexp(x: f64) -> (f64, i32) {
    let magnitude = x.abs();
    let normal = magnitude >= f64::MIN_POSITIVE;
    // 2^54 makes every subnormal normal.
    let (scaled, shift) = if normal { (x, 0) } else { (x * 18_014_398_509_481_984.0, 54) };
    let bits = scaled.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - shift;
    let significand = f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52);
    if x == 0.0 || !x.is_finite() { (x, 0) } else { (significand, exponent) }
}

/// Inverse hyperbolic cosine. `libm` does not return NaN for every number below 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// acos(x) / pi.
pub fn acospi(x: f64) -> f64 {
    acos(x) / PI
}

/// asin(x) / pi.
pub fn asinpi(x: f64) -> f64 {
    asin(x) / PI
}

/// atan(x) / pi.
pub fn atanpi(x: f64) -> f64 {
    atan(x) / PI
}

/// atan2(y, x) / pi.
pub fn atan2pi(y: f64, x: f64) -> f64 {
    atan2(y, x) / PI
}

/// x to the y. `libm`'s version loses ten bits where |x - 1| < 2^-20 and |y| > 2^31.
pub fn pow(x: f64, y: f64) -> f64 {
    let power = libm::pow(x, y);
    let beyond = x.abs() - 1.0;
    if beyond.abs() > 1e-6 || y.abs() < 1e9 || power.is_nan() {
        return power;
    }
    // y log(1 + beyond), as a sum of two parts.
    let most = y * beyond;
    let less =
        libm::fma(y, beyond, -most) - y * (beyond * beyond * (0.5 - beyond * (1.0 / 3.0 - beyond * 0.25)));
    let sum = most + less;
    let less = most - sum + less;
    if sum.abs() < 1000.0 {
        let root = exp(0.5 * sum);
        (root * (root + root * less)).copysign(power)
    } else {
        power
    }
}

/// 10 to the x.
pub fn exp10(x: f64) -> f64 {
    pow(10.0, x)
}

/// The nearest integer to 2 x, modulo 4, and the remaining angle: pi x minus that many times pi / 2, in [-pi/4,
/// pi/4].
#[inline(always)]
fn quarter(x: f64) -> (u64, f64) {
    let turn = x - 2.0 * (x * 0.5).round_ties_even();
    let quarters = (turn * 2.0).round_ties_even();
    ((quarters as i64 & 3) as u64, (turn - quarters * 0.5) * PI)
}

/// sin(pi x).
pub fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quadrant, angle) = quarter(x);
    let sine = match quadrant {
        0 => sin(angle),
        1 => cos(angle),
        2 => -sin(angle),
        _ => -cos(angle),
    };
    // A zero result has the sign of x in every quadrant.
    if sine == 0.0 { 0f64.copysign(x) } else { sine }
}

/// cos(pi x).
pub fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quadrant, angle) = quarter(x);
    let cosine = match quadrant {
        0 => cos(angle),
        1 => -sin(angle),
        2 => -cos(angle),
        _ => sin(angle),
    };
    // Zero results are not negative.
    if cosine == 0.0 { 0.0 } else { cosine }
}

/// tan(pi x).
pub fn tanpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quadrant, angle) = quarter(x);
    let zero = angle == 0.0;
    match quadrant {
        0 if zero => 0f64.copysign(x),
        2 if zero => -0f64.copysign(x),
        // Half past an even integer is +infinity, half past an odd one -infinity.
        1 if zero => f64::INFINITY,
        3 if zero => f64::NEG_INFINITY,
        0 | 2 => tan(angle),
        _ => -1.0 / tan(angle),
    }
}

/// x to the y for non-negative x, NaN for other x; 0 to the 0, infinity to the 0 and 1 to an infinity are NaN too.
pub fn powr(x: f64, y: f64) -> f64 {
    let undefined = x < 0.0
        || x.is_nan()
        || y.is_nan()
        || (y == 0.0 && (x == 0.0 || x.is_infinite()))
        || (x == 1.0 && y.is_infinite());
    if undefined { f64::NAN } else { pow(x.abs(), y) }
}

/// x to the integer n; 1 for n = 0 for every x.
pub fn pown(x: f64, n: i32) -> f64 {
    pow(x, n.into())
}

/// The n-th root of x; NaN for n = 0, and for negative x with even n.
pub fn rootn(x: f64, n: i32) -> f64 {
    let odd = n & 1 == 1;
    if n == 0 || x.is_nan() || (x < 0.0 && !odd) {
        return f64::NAN;
    }
    let magnitude = x.abs();
    let sign = if odd { x } else { 1.0 };
    let n = f64::from(n);
    if x == 0.0 || x.is_infinite() {
        let root = if (x == 0.0) == (n > 0.0) { 0.0 } else { f64::INFINITY };
        return root.copysign(sign);
    }
    // 1 / n is inexact; the missing part matters, times the logarithm.
    let exponent = 1.0 / n;
    let missing = libm::fma(-n, exponent, 1.0) / n;
    let root = pow(magnitude, exponent);
    let root = if missing == 0.0 { root } else { root + root * (missing * log(magnitude)) };
    root.copysign(sign)
}

/// Gamma function; NaN at negative integers, infinities with the sign of zeros.
pub fn tgamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// Sign of the gamma function; 0 where it has none: zeros, negative integers. 1 for NaNs and infinities.
pub fn lgamma_sign(x: f64) -> i32 {
    let floor = x.floor();
    if x == 0.0 || (x < 0.0 && floor == x && x.is_finite()) {
        0
    } else if x < 0.0 && x.is_finite() && libm::fmod(floor, 2.0) != 0.0 {
        -1
    } else {
        1
    }
}

/// The low seven bits of the integer nearest to x / y, with the sign of x / y; 0 if the remainder is NaN.
pub fn remquo_quotient(x: f64, y: f64) -> i32 {
    let (remainder, quotient) = libm::remquo(x, y);
    if remainder.is_nan() { 0 } else { quotient.signum() * (quotient.abs() & 0x7f) }
}
