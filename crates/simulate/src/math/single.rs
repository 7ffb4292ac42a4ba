//! Functions for `half` and `float`, in branch-free `double` arithmetic: loops over them become vector code.
//!
//! Operands are numbers of those types, and results are meant to be rounded to them. The relative error is at most
//! 2^-38: after rounding to `float`, half a unit in the last place plus a ten thousandth. No fused multiply-add is
//! used, so that every machine gets the same results.

use core::f64::consts::{
    FRAC_1_PI, FRAC_1_SQRT_2, FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_10, LOG2_E, LOG10_2, LOG10_E, PI,
    SQRT_2,
};

/// 1.5 times 2^52: adding it to a number rounds the number to an integer, which is in the low bits of the sum.
const INTEGERS: f64 = 6_755_399_441_055_744.0;

/// The polynomial with these coefficients, constant term first.
macro_rules! polynomial {
    ($x:expr; $last:expr) => {
        $last
    };
    ($x:expr; $first:expr, $($rest:expr),+) => {
        $first + $x * polynomial!($x; $($rest),+)
    };
}

/// (exp(x) - 1 - x) / x^2 for |x| up to log(2) / 2: 1 / n!.
#[inline(always)]
fn exponential(x: f64) -> f64 {
    polynomial!(
        x;
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0
    )
}

/// (atanh(x) - x) / x^3 as a function of x^2, for |x| up to 3 - sqrt(8): 1 / n for odd n.
#[inline(always)]
fn hyperbolic_arc_tangent(x: f64) -> f64 {
    polynomial!(
        x; 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0
    )
}

/// (sin(x) - x) / x^3 as a function of x^2, for |x| up to pi / 4: 1 / n! for odd n, with alternating signs, negative
/// first.
#[inline(always)]
fn sine(x: f64) -> f64 {
    polynomial!(
        x;
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0
    )
}

/// (cos(x) - 1) / x^2 as a function of x^2, for |x| up to pi / 4: 1 / n! for even n, with alternating signs, negative
/// first.
#[inline(always)]
fn cosine(x: f64) -> f64 {
    polynomial!(
        x;
        -1.0 / 2.0,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0
    )
}

/// atan(x) / x as a function of x^2, for |x| up to sqrt(2) - 1: the minimax polynomial by the Remez exchange
/// algorithm; its relative error is 2^-45.
#[inline(always)]
fn arc_tangent(x: f64) -> f64 {
    polynomial!(
        x;
        0.999_999_999_999_974_4,
        -0.333_333_333_308_893_25,
        0.199_999_996_153_252,
        -0.142_856_909_077_383_52,
        0.111_103_960_807_673_21,
        -0.090_785_288_210_719_53,
        0.075_646_428_816_553_45,
        -0.058_778_668_062_648_82,
        0.030_711_317_091_988_86
    )
}

/// Clamps to `low` to `high`; NaNs are unchanged.
#[inline(always)]
fn clamped(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// 2^x as (p, q): p is a power of two, p + p q is the result, and q is near 0 for x near 0. For x beyond the range of
/// `float`, the result is beyond it too.
#[inline(always)]
fn exp2_parts(x: f64) -> (f64, f64) {
    let x = clamped(x, -400.0, 400.0);
    let shifted = x + INTEGERS;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1f64.to_bits()));
    let rest = (x - (shifted - INTEGERS)) * LN_2;
    (power, rest + rest * rest * exponential(rest))
}

/// 2^x - 1
#[inline(always)]
fn exp2_less_one(x: f64) -> f64 {
    let (power, part) = exp2_parts(x);
    power * part + (power - 1.0)
}

/// 2 to the x.
#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let (power, part) = exp2_parts(x);
    power + power * part
}

/// e to the x.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    exp2(x * LOG2_E)
}

/// 10 to the x.
#[inline(always)]
pub(super) fn exp10(x: f64) -> f64 {
    exp2(x * LOG2_10)
}

/// exp(x) - 1
#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    let result = exp2_less_one(x * LOG2_E);
    // Preserves the sign of a zero.
    if x == 0.0 { x } else { result }
}

/// Hyperbolic sine.
#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let beyond = exp2_less_one(x.abs() * LOG2_E);
    (0.5 * (beyond + beyond / (beyond + 1.0))).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let power = exp(x.abs());
    0.5 * (power + 1.0 / power)
}

/// Hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let beyond = exp2_less_one(x.abs() * (2.0 * LOG2_E));
    (beyond / (beyond + 2.0)).copysign(x)
}

/// log(x) for normal x above 0 as (n, l) with log(x) = n log(2) + l, where x is 2^n times a number between sqrt(1/2)
/// and sqrt(2).
#[inline(always)]
fn log_parts(x: f64) -> (f64, f64) {
    const ROOT: u64 = FRAC_1_SQRT_2.to_bits();
    const FRACTION: u64 = (1 << 52) - 1;
    /// 2^52, whose low bits can hold an integer.
    const LOW: f64 = 4_503_599_627_370_496.0;

    let moved = x.to_bits().wrapping_add(1f64.to_bits() - ROOT);
    let exponent = f64::from_bits(LOW.to_bits() | moved >> 52) - (LOW + 1023.0);
    let number = f64::from_bits((moved & FRACTION) + ROOT);
    let ratio = (number - 1.0) / (number + 1.0);
    let square = ratio * ratio;
    (exponent, 2.0 * ratio + 2.0 * ratio * (square * hyperbolic_arc_tangent(square)))
}

/// The logarithm for operands that have one, with the special values for 0, infinity, negative numbers and NaN.
#[inline(always)]
fn logarithm(x: f64, result: f64) -> f64 {
    let result = if x == f64::INFINITY { x } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x >= 0.0 { result } else { f64::NAN }
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let (exponent, rest) = log_parts(x);
    logarithm(x, exponent + rest * LOG2_E)
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log(x: f64) -> f64 {
    let (exponent, rest) = log_parts(x);
    logarithm(x, exponent * LN_2 + rest)
}

/// Logarithm to base 10.
#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    let (exponent, rest) = log_parts(x);
    logarithm(x, exponent * LOG10_2 + rest * LOG10_E)
}

/// log(1 + x)
#[inline(always)]
pub(super) fn log1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // The rounding error of the sum.
    let lost = (x - (sum - 1.0)) / sum;
    let result = log(sum) + if sum > 0.0 && sum < f64::INFINITY { lost } else { 0.0 };
    if x == 0.0 { x } else { result }
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let magnitude = x.abs();
    let square = x * x;
    let beyond = magnitude + square / (1.0 + (1.0 + square).sqrt());
    let result = log1p(if magnitude == f64::INFINITY { magnitude } else { beyond });
    result.copysign(x)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let beyond = x - 1.0;
    let result = log1p(beyond + (beyond * (x + 1.0)).sqrt());
    if x >= 1.0 { result } else { f64::NAN }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let magnitude = x.abs();
    (0.5 * log1p(2.0 * magnitude / (1.0 - magnitude))).copysign(x)
}

/// Arc tangent of y / x for non-negative y and x that are not both zero or both infinite: in [0, pi/2].
#[inline(always)]
fn angle(y: f64, x: f64) -> f64 {
    // Above 3 pi / 8 it is pi / 2 less the angle of x / y; above pi / 8 it is pi / 4 plus the angle of this quotient.
    let (steep, middle) = (y > x * (SQRT_2 + 1.0), y > x * (SQRT_2 - 1.0));
    let (base, high, wide) = if middle { (FRAC_PI_4, y - x, y + x) } else { (0.0, y, x) };
    let (base, high, wide) = if steep { (FRAC_PI_2, -x, y) } else { (base, high, wide) };
    let part = high / wide;
    base + part * arc_tangent(part * part)
}

/// Arc tangent.
#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    angle(x.abs(), 1.0).copysign(x)
}

/// atan(x) / pi
#[inline(always)]
pub(super) fn atanpi(x: f64) -> f64 {
    atan(x) * FRAC_1_PI
}

/// Arc tangent of y / x in the quadrant of (x, y).
#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (high, wide) = (y.abs(), x.abs());
    // Two zeros count as on the axis, two infinities as on the diagonal.
    let (zeros, infinite) = (high + wide == 0.0, high == f64::INFINITY && wide == f64::INFINITY);
    let wide = if zeros { 1.0 } else { wide };
    let angle = angle(if infinite { 1.0 } else { high }, if infinite { 1.0 } else { wide });
    let angle = if x.is_sign_negative() { PI - angle } else { angle };
    angle.copysign(y)
}

/// atan2(y, x) / pi
#[inline(always)]
pub(super) fn atan2pi(y: f64, x: f64) -> f64 {
    atan2(y, x) * FRAC_1_PI
}

/// Arc sine.
#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    angle(x.abs(), ((1.0 - x) * (1.0 + x)).sqrt()).copysign(x)
}

/// asin(x) / pi
#[inline(always)]
pub(super) fn asinpi(x: f64) -> f64 {
    asin(x) * FRAC_1_PI
}

/// Arc cosine.
#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    2.0 * angle((1.0 - x).sqrt(), (1.0 + x).sqrt())
}

/// acos(x) / pi
#[inline(always)]
pub(super) fn acospi(x: f64) -> f64 {
    acos(x) * FRAC_1_PI
}

/// Sine and cosine of an angle in [-pi/4, pi/4] plus this many quarter turns.
#[inline(always)]
fn turned(angle: f64, quarters: u64) -> (f64, f64) {
    let square = angle * angle;
    let sine = angle + angle * (square * sine(square));
    let cosine = 1.0 + square * cosine(square);
    let (sine, cosine) = if quarters & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let negate = |x: f64, negative: u64| f64::from_bits(x.to_bits() ^ (negative & 2) << 62);
    (negate(sine, quarters), negate(cosine, quarters + 1))
}

/// Whether x is too large for [`sin`], [`cos`] and [`tan`]: its number of quarter turns takes more than 20 bits.
#[inline(always)]
pub(super) fn far(x: f64) -> bool {
    x.abs() >= 1_600_000.0 && x.abs() < f64::INFINITY
}

/// Sine and cosine; x must not be [`far`].
#[inline(always)]
fn circle(x: f64) -> (f64, f64) {
    /// pi / 2 to 33 bits, to 53 bits, and the rest: quarters times the former are exact.
    const HIGH: f64 = f64::from_bits(FRAC_PI_2.to_bits() & !0xf_ffff);
    const MIDDLE: f64 = FRAC_PI_2 - HIGH;
    const LOW: f64 = 6.123_233_995_736_766e-17;

    let shifted = x * FRAC_2_PI + INTEGERS;
    let quarters = shifted - INTEGERS;
    turned(x - quarters * HIGH - quarters * MIDDLE - quarters * LOW, shifted.to_bits())
}

/// Sine; x must not be [`far`].
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let sine = circle(x).0;
    if x == 0.0 { x } else { sine }
}

/// Cosine; x must not be [`far`].
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    circle(x).1
}

/// Tangent; x must not be [`far`].
#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let (sine, cosine) = circle(x);
    if x == 0.0 { x } else { sine / cosine }
}

/// Sine and cosine of pi x.
#[inline(always)]
fn half_circle(x: f64) -> (f64, f64) {
    // Whole turns do not count, and numbers of this size are even; an infinity gives NaN.
    let x = if x.abs() < 1_073_741_824.0 { x } else { x * 0.0 };
    let shifted = 2.0 * x + INTEGERS;
    turned((x - 0.5 * (shifted - INTEGERS)) * PI, shifted.to_bits())
}

/// sin(pi x)
#[inline(always)]
pub(super) fn sinpi(x: f64) -> f64 {
    let sine = half_circle(x).0;
    if sine == 0.0 { sine.copysign(x) } else { sine }
}

/// cos(pi x)
#[inline(always)]
pub(super) fn cospi(x: f64) -> f64 {
    let cosine = half_circle(x).1;
    if cosine == 0.0 { 0.0 } else { cosine }
}

/// tan(pi x)
#[inline(always)]
pub(super) fn tanpi(x: f64) -> f64 {
    let (sine, cosine) = half_circle(x);
    // Zeros have the sign of x at even integers, and the opposite sign at odd ones.
    let zero = (0f64.copysign(x)) * cosine;
    // The sign of an infinite result is that of the sine.
    let cosine = if cosine == 0.0 { 0.0 } else { cosine };
    if sine == 0.0 { zero } else { sine / cosine }
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt(x: f64) -> f64 {
    let root = exp2(log2(x.abs()) / 3.0).copysign(x);
    if x == 0.0 || x.is_infinite() { x } else { root }
}

/// sqrt(x x + y y)
#[inline(always)]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let root = (x * x + y * y).sqrt();
    if x.is_infinite() || y.is_infinite() { f64::INFINITY } else { root }
}

/// x to the y.
#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let magnitude = x.abs();
    let integer = y.floor() == y;
    let odd = integer && (y * 0.5).floor() != y * 0.5;
    let power = exp2(y * log2(magnitude));
    let power = if magnitude == 1.0 && y.is_infinite() { 1.0 } else { power };
    let power = if x < 0.0 && magnitude < f64::INFINITY && !integer { f64::NAN } else { power };
    let power = if odd { power.copysign(x) } else { power };
    if y == 0.0 || x == 1.0 { 1.0 } else { power }
}

/// x to the y for non-negative x.
#[inline(always)]
pub(super) fn powr(x: f64, y: f64) -> f64 {
    // 0 to the 0, infinity to the 0 and 1 to an infinity become NaN without special cases: 0 times an infinity.
    let power = exp2(y * log2(x.abs()));
    if x >= 0.0 { power } else { f64::NAN }
}

/// x to the integer n.
#[inline(always)]
pub(super) fn pown(x: f64, n: i32) -> f64 {
    pow(x, n.into())
}

/// The n-th root of x.
#[inline(always)]
pub(super) fn rootn(x: f64, n: i32) -> f64 {
    let odd = n & 1 == 1;
    let root = exp2(log2(x.abs()) / f64::from(n));
    let root = if odd { root.copysign(x) } else { root };
    if n == 0 || (x < 0.0 && !odd) { f64::NAN } else { root }
}
