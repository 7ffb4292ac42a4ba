//! Exponentials, logarithms, trigonometry, powers, gamma and error functions.
//!
//! `half` and `float` are computed in `double` and rounded once: their error is half a unit in the last place, and a
//! billionth of one.

use super::double;
use super::float::Float;

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name<T: Float>(x: T) -> T {
            T::nearest(double::$name(x.to_f64()))
        })*
    };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name<T: Float>(x: T, y: T) -> T {
            T::nearest(double::$name(x.to_f64(), y.to_f64()))
        })*
    };
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
    /// Cosine.
    cos;
    /// Hyperbolic cosine.
    cosh;
    /// cos(pi x).
    cospi;
    /// Error function.
    erf;
    /// Complementary error function.
    erfc;
    /// e to the x.
    exp;
    /// 2 to the x.
    exp2;
    /// 10 to the x.
    exp10;
    /// exp(x) - 1.
    expm1;
    /// Logarithm of the absolute gamma function.
    lgamma;
    /// Natural logarithm.
    log;
    /// Logarithm to base 2.
    log2;
    /// Logarithm to base 10.
    log10;
    /// log(1 + x).
    log1p;
    /// Sine.
    sin;
    /// Hyperbolic sine.
    sinh;
    /// sin(pi x).
    sinpi;
    /// Tangent.
    tan;
    /// Hyperbolic tangent.
    tanh;
    /// tan(pi x).
    tanpi;
    /// Gamma function; a NaN at negative integers.
    tgamma;
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
    /// x to the y, x not negative: by the rules of exp(y log(x)), so that 0 to the 0 is a NaN.
    powr;
}

/// x to the integer n; 1 for n = 0 whatever x is.
#[inline]
pub fn pown<T: Float>(x: T, n: i32) -> T {
    T::nearest(double::pown(x.to_f64(), n))
}

/// The n-th root of x; a NaN for n = 0, and of negative x for even n.
#[inline]
pub fn rootn<T: Float>(x: T, n: i32) -> T {
    T::nearest(double::rootn(x.to_f64(), n))
}

/// Sign of the gamma function: 0 at zeros and negative integers, else 1 or -1.
#[inline]
pub fn lgamma_sign<T: Float>(x: T) -> i32 {
    double::lgamma_sign(x.to_f64())
}
