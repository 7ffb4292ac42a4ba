//! Exponentials, logarithms, trigonometry, powers, gamma and error functions.
//!
//! `half` and `float` are computed in `double` and rounded once: the error is at most half a unit in the last place
//! plus a ten thousandth of one. Except for the error and gamma functions, this needs no branches or calls.

use super::float::Float;
use super::{double, single};

/// Whether `T` is `half` or `float`, which are computed in `double`.
#[inline(always)]
fn short<T: Float>() -> bool {
    T::PRECISION < <f64 as Float>::PRECISION
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Float>(x: T) -> T {
            T::nearest(if short::<T>() { single::$name(x.to_f64()) } else { double::$name(x.to_f64()) })
        })*
    };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Float>(x: T, y: T) -> T {
            let (x, y) = (x.to_f64(), y.to_f64());
            T::nearest(if short::<T>() { single::$name(x, y) } else { double::$name(x, y) })
        })*
    };
}

macro_rules! with_integer {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Float>(x: T, n: i32) -> T {
            T::nearest(if short::<T>() { single::$name(x.to_f64(), n) } else { double::$name(x.to_f64(), n) })
        })*
    };
}

/// Functions of angles, with a fast path for [near](is_near) angles.
macro_rules! circular {
    ($($(#[$doc:meta])* $name:ident $near:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name<T: Float>(x: T) -> T {
            if is_near(x) { $near(x) } else { T::nearest(double::$name(x.to_f64())) }
        }

        /// The same function if [`is_near`], bit-exact, without branches.
        #[inline(always)]
        pub fn $near<T: Float>(x: T) -> T {
            T::nearest(single::$name(x.to_f64()))
        })*
    };
}

/// Functions that use the same code for all precisions.
macro_rules! uniform {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name<T: Float>(x: T) -> T {
            T::nearest(double::$name(x.to_f64()))
        })*
    };
}

/// Whether the fast path applies to an angle x: |x| below 1.6 million, or infinite, or NaN; never for `double`.
#[inline(always)]
pub fn is_near<T: Float>(x: T) -> bool {
    short::<T>() && !single::far(x.to_f64())
}

unary! {
    /// Arc cosine.
    acos;
    /// Inverse hyperbolic cosine.
    acosh;
    /// acos(x) / pi.
    acospi;
    /// Arc sine.
    asin;
    /// Inverse hyperbolic sine.
    asinh;
    /// asin(x) / pi.
    asinpi;
    /// Arc tangent.
    atan;
    /// Inverse hyperbolic tangent.
    atanh;
    /// atan(x) / pi.
    atanpi;
    /// Cube root.
    cbrt;
    /// Hyperbolic cosine.
    cosh;
    /// cos(pi x).
    cospi;
    /// e to the x.
    exp;
    /// 2 to the x.
    exp2;
    /// 10 to the x.
    exp10;
    /// exp(x) - 1.
    expm1;
    /// Natural logarithm.
    log;
    /// Logarithm to base 2.
    log2;
    /// Logarithm to base 10.
    log10;
    /// log(1 + x).
    log1p;
    /// Hyperbolic sine.
    sinh;
    /// sin(pi x).
    sinpi;
    /// Hyperbolic tangent.
    tanh;
    /// tan(pi x).
    tanpi;
}

binary! {
    /// Arc tangent of x / y, in the quadrant of the point (y, x).
    atan2;
    /// atan2(x, y) / pi.
    atan2pi;
    /// sqrt(x x + y y) without undue overflow.
    hypot;
    /// x to the y.
    pow;
    /// x to the y, x not negative: by the rules of exp(y log(x)), so that 0 to the 0 is NaN.
    powr;
}

with_integer! {
    /// x to the integer n; 1 for n = 0 for every x.
    pown;
    /// The n-th root of x; NaN for n = 0, and for negative x with even n.
    rootn;
}

circular! {
    /// Cosine.
    cos cos_near;
    /// Sine.
    sin sin_near;
    /// Tangent.
    tan tan_near;
}

uniform! {
    /// Error function.
    erf;
    /// Complementary error function.
    erfc;
    /// Logarithm of the absolute value of the gamma function.
    lgamma;
    /// Gamma function; NaN at negative integers.
    tgamma;
}

/// Sign of the gamma function: 0 at zeros and negative integers, else 1 or -1.
#[inline]
pub fn lgamma_sign<T: Float>(x: T) -> i32 {
    double::lgamma_sign(x.to_f64())
}
