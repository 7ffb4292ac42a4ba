//! Functions of a few instructions: rounding, selection, decomposition, sums and products.
//!
//! All of them are free of branches and calls, except [`fma`], [`remainder`] and similar functions; loops become
//! vector code.

use super::double;
use super::float::{Float, Real};
use super::int::Int;

/// |x|.
#[inline(always)]
pub fn fabs<T: Float>(x: T) -> T {
    T::from_bits(x.to_bits() & !T::SIGN)
}

/// x with y's sign.
#[inline(always)]
pub fn copysign<T: Float>(x: T, y: T) -> T {
    T::from_bits((x.to_bits() & !T::SIGN) | (y.to_bits() & T::SIGN))
}

/// Rounds down to an integer.
#[inline(always)]
pub fn floor<T: Float>(x: T) -> T {
    T::narrow(x.widen().floor())
}

/// Rounds up to an integer.
#[inline(always)]
pub fn ceil<T: Float>(x: T) -> T {
    T::narrow(x.widen().ceil())
}

/// Rounds toward zero to an integer.
#[inline(always)]
pub fn trunc<T: Float>(x: T) -> T {
    T::narrow(x.widen().trunc())
}

/// Rounds to an integer, ties away from zero.
#[inline(always)]
pub fn round<T: Float>(x: T) -> T {
    T::narrow(x.widen().round())
}

/// Rounds to an integer, ties to even.
#[inline(always)]
pub fn rint<T: Float>(x: T) -> T {
    T::narrow(x.widen().round_ties_even())
}

/// x - floor(x), below 1. An infinity gives 0 with its sign; -0 gives -0.
#[inline(always)]
pub fn fract<T: Float>(x: T) -> T {
    let real = x.widen();
    let part = fmin(T::narrow(real - real.floor()), T::BELOW_ONE);
    let zero = copysign(T::default(), x);
    let part = if is_infinite(x) || is_zero(x) { zero } else { part };
    if is_nan(x) { x } else { part }
}

/// x - trunc(x) with the sign of x; an infinity gives 0.
#[inline(always)]
pub fn modf<T: Float>(x: T) -> T {
    let real = x.widen();
    let part = T::narrow(real - real.trunc());
    copysign(if is_infinite(x) { T::default() } else { part }, x)
}

/// The greater value; the other one if one is NaN.
#[inline(always)]
pub fn fmax<T: Float>(x: T, y: T) -> T {
    if less(x, y) || is_nan(x) { y } else { x }
}

/// The lesser value; the other one if one is NaN.
#[inline(always)]
pub fn fmin<T: Float>(x: T, y: T) -> T {
    if less(y, x) || is_nan(x) { y } else { x }
}

/// y if x < y, else x.
#[inline(always)]
pub fn fmax_common<T: Float>(x: T, y: T) -> T {
    if less(x, y) { y } else { x }
}

/// y if y < x, else x.
#[inline(always)]
pub fn fmin_common<T: Float>(x: T, y: T) -> T {
    if less(y, x) { y } else { x }
}

/// The value of greater magnitude; [`fmax`] if the magnitudes are equal.
#[inline(always)]
pub fn maxmag<T: Float>(x: T, y: T) -> T {
    let other = if less(fabs(x), fabs(y)) { y } else { fmax(x, y) };
    if less(fabs(y), fabs(x)) { x } else { other }
}

/// The value of lesser magnitude; [`fmin`] if the magnitudes are equal.
#[inline(always)]
pub fn minmag<T: Float>(x: T, y: T) -> T {
    let other = if less(fabs(y), fabs(x)) { y } else { fmin(x, y) };
    if less(fabs(x), fabs(y)) { x } else { other }
}

/// `fmin(fmax(x, low), high)`.
#[inline(always)]
pub fn clamp<T: Float>(x: T, low: T, high: T) -> T {
    fmin(fmax(x, low), high)
}

/// x - y if x > y, 0 otherwise; NaN if either is NaN.
#[inline(always)]
pub fn fdim<T: Float>(x: T, y: T) -> T {
    let difference = T::narrow(x.widen() - y.widen());
    if x.widen() <= y.widen() { T::default() } else { difference }
}

/// a * b + c, rounded once.
#[inline(always)]
pub fn fma<T: Float>(a: T, b: T, c: T) -> T {
    a.mul_add(b, c)
}

/// a * b + c, rounded twice.
#[inline(always)]
pub fn mad<T: Float>(a: T, b: T, c: T) -> T {
    T::narrow(T::narrow(a.widen() * b.widen()).widen() + c.widen())
}

/// Square root, correctly rounded.
#[inline(always)]
pub fn sqrt<T: Float>(x: T) -> T {
    T::narrow(x.widen().sqrt())
}

/// x / y, correctly rounded.
#[inline(always)]
pub fn divide<T: Float>(x: T, y: T) -> T {
    T::narrow(x.widen() / y.widen())
}

/// 1 / x, correctly rounded.
#[inline(always)]
pub fn recip<T: Float>(x: T) -> T {
    T::narrow(T::Real::from(1.0) / x.widen())
}

/// x + (y - x) a; `half` is rounded once, at the end.
#[inline(always)]
pub fn mix<T: Float>(x: T, y: T, a: T) -> T {
    T::narrow(x.widen() + (y.widen() - x.widen()) * a.widen())
}

/// 0 if x < edge, else 1.
#[inline(always)]
pub fn step<T: Float>(edge: T, x: T) -> T {
    T::narrow(T::Real::from(if less(x, edge) { 0.0 } else { 1.0 }))
}

/// 0 below the first edge, 1 above the second, t t (3 - 2 t) between; `half` is rounded once, at the end.
#[inline(always)]
pub fn smoothstep<T: Float>(edge0: T, edge1: T, x: T) -> T {
    let (edge0, edge1, x) = (edge0.widen(), edge1.widen(), x.widen());
    let t = clamp((x - edge0) / (edge1 - edge0), 0.0.into(), 1.0.into());
    T::narrow(t * t * (T::Real::from(3.0) - T::Real::from(2.0) * t))
}

/// 1, -1, the zero itself, or 0 for NaN.
#[inline(always)]
pub fn sign<T: Float>(x: T) -> T {
    let one = copysign(T::narrow(1.0.into()), x);
    let zero = if is_nan(x) { T::default() } else { x };
    if is_zero(x) || is_nan(x) { zero } else { one }
}

/// 180 / pi times x.
#[inline(always)]
pub fn degrees<T: Float>(x: T) -> T {
    T::narrow(x.widen() * T::Real::nearest(180.0 / core::f64::consts::PI))
}

/// pi / 180 times x.
#[inline(always)]
pub fn radians<T: Float>(x: T) -> T {
    T::narrow(x.widen() * T::Real::nearest(core::f64::consts::PI / 180.0))
}

/// 1 / sqrt(x).
#[inline(always)]
pub fn rsqrt<T: Float>(x: T) -> T {
    T::narrow(T::Real::from(1.0) / x.widen().sqrt())
}

/// Each bit is that of b where c has a 1, else that of a.
#[inline(always)]
pub fn bitselect<T: Float>(a: T, b: T, c: T) -> T {
    T::from_bits(super::int::bitselect(a.to_bits(), b.to_bits(), c.to_bits()))
}

/// A quiet NaN with as many bits of the code as fit.
#[inline(always)]
pub fn nan<T: Float>(code: T::Bits) -> T {
    T::from_bits(T::QUIET | (code & !(T::SIGN | T::QUIET)))
}

/// The next number from x toward y; x itself if they are equal.
#[inline(always)]
pub fn nextafter<T: Float>(x: T, y: T) -> T {
    let one = T::Bits::from_u32(1);
    let away = less(x, y) == less(T::default(), x);
    let bits = x.to_bits();
    let next = T::from_bits(if away { bits.wrapping_add(one) } else { bits.wrapping_sub(one) });
    let next = if is_zero(x) { copysign(T::from_bits(one), y) } else { next };
    let next = if x.widen() == y.widen() { y } else { next };
    if is_nan(x) || is_nan(y) { T::from_bits(T::QUIET) } else { next }
}

/// x times 2 to the n, correctly rounded.
#[inline(always)]
pub fn ldexp<T: Float>(x: T, n: i32) -> T {
    if T::PRECISION == <f64 as Float>::PRECISION {
        T::nearest(double::ldexp(x.to_f64(), n))
    } else {
        // Beyond the ends of this range the result is infinite, zero, or rounds to zero, and `f64` represents it
        // exactly.
        let power = f64::from_bits(((1023 + n.clamp(-400, 400)) as u64) << 52);
        T::nearest(x.to_f64() * power)
    }
}

/// The significand in [0.5, 1); zeros, infinities and NaNs unchanged.
#[inline(always)]
pub fn frexp<T: Float>(x: T) -> T {
    T::nearest(double::frexp(x.to_f64()).0)
}

/// The exponent for the significand of [`frexp`]; 0 for zeros, infinities and NaNs.
#[inline(always)]
pub fn frexp_exponent<T: Float>(x: T) -> i32 {
    double::frexp(x.to_f64()).1
}

/// The exponent, as if subnormals were normalised; `i32::MIN` for zero, `i32::MAX` for infinities and NaNs.
#[inline(always)]
pub fn ilogb<T: Float>(x: T) -> i32 {
    let exponent = double::frexp(x.to_f64()).1 - 1;
    let exponent = if is_zero(x) { i32::MIN } else { exponent };
    if is_infinite(x) || is_nan(x) { i32::MAX } else { exponent }
}

/// The exponent, as if subnormals were normalised; -infinity for zero, infinity for infinities.
#[inline(always)]
pub fn logb<T: Float>(x: T) -> T {
    let infinity = T::from_bits(T::INFINITE);
    let exponent = T::narrow(T::Real::from((double::frexp(x.to_f64()).1 - 1) as f32));
    let exponent = if is_zero(x) { copysign(infinity, T::from_bits(T::SIGN)) } else { exponent };
    let exponent = if is_infinite(x) { infinity } else { exponent };
    if is_nan(x) { x } else { exponent }
}

/// x - y trunc(x / y), exact.
#[inline]
pub fn fmod<T: Float>(x: T, y: T) -> T {
    T::nearest(libm::fmod(x.to_f64(), y.to_f64()))
}

/// x - n y, exact, where n is the integer nearest to x / y, the even one of two.
#[inline]
pub fn remainder<T: Float>(x: T, y: T) -> T {
    T::nearest(libm::remainder(x.to_f64(), y.to_f64()))
}

/// The low seven bits of the n of [`remainder`], with the sign of x / y; 0 if the remainder is NaN.
#[inline]
pub fn remquo_quotient<T: Float>(x: T, y: T) -> i32 {
    double::remquo_quotient(x.to_f64(), y.to_f64())
}

#[inline(always)]
pub(super) fn is_nan<T: Float>(x: T) -> bool {
    x.widen().is_nan()
}

/// Whether x < y. The comparison of `half` itself would use branches.
#[inline(always)]
fn less<T: Float>(x: T, y: T) -> bool {
    x.widen() < y.widen()
}

#[inline(always)]
fn is_zero<T: Float>(x: T) -> bool {
    x.widen() == 0.0.into()
}

#[inline(always)]
pub(super) fn is_infinite<T: Float>(x: T) -> bool {
    fabs(x).to_bits() == T::INFINITE
}
