//! The three precisions, and the distance of a result from the true one.

use half::f16;
use rug::Float as Exact;
use tripipe_ir::Scalar;
use tripipe_ir::op::Ulp;
use tripipe_simulate::math::Float;

/// A precision under test.
pub(crate) trait Kind: Float {
    const NAME: &str;
    const SCALAR: Scalar;
    /// The width in bits.
    const BITS: u32;
    /// Bits of the true value: enough to measure a thousandth of the type's last digit.
    const REFERENCE: u32;
    /// The exponent of the smallest normal number.
    const LEAST: i32 = 1 - Self::MAX_EXPONENT;

    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! kind {
    ($float:ident, $bits:ident, $scalar:ident, $precision:expr) => {
        impl Kind for $float {
            const NAME: &str = stringify!($float);
            const SCALAR: Scalar = Scalar::$scalar;
            const BITS: u32 = $bits::BITS;
            const REFERENCE: u32 = $precision;

            fn of(bits: u64) -> Self {
                Self::from_bits($bits::try_from(bits).expect("no more bits than the type has"))
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    };
}

kind!(f16, u16, F16, 53);
kind!(f32, u32, F32, 60);
kind!(f64, u64, F64, 96);

/// The number with this precision in bits.
pub(crate) fn exactly<T: Kind>(x: T, precision: u32) -> Exact {
    Exact::with_val(precision, x.to_f64())
}

/// The true value rounded to `T`: nearest, ties to even, subnormals, overflow to infinity.
pub(crate) fn rounded<T: Kind>(exact: &Exact) -> T {
    if !exact.is_normal() {
        return T::nearest(exact.to_f64());
    }
    let exponent = (exact.get_exp().unwrap() - 1).max(T::LEAST);
    let last = exponent - (T::PRECISION as i32 - 1);
    let digits = Exact::with_val(exact.prec(), exact >> last).round_even();
    let number = (digits << last).to_f64();
    let greatest = 2f64.powi(T::MAX_EXPONENT) * (2.0 - 2f64.powi(1 - T::PRECISION as i32));
    T::nearest(if number.abs() > greatest { f64::INFINITY.copysign(number) } else { number })
}

/// The distance in units in the last place, as the specification defines them. An infinity counts as the power of two
/// above the greatest number. The distance is infinite for an unexpected or missing NaN, infinity or sign.
pub(crate) fn error<T: Kind>(got: T, exact: &Exact) -> f64 {
    let got = got.to_f64();
    let same_sign = got.is_sign_negative() == exact.is_sign_negative();
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if !same_sign || (exact.is_zero() && got != 0.0) {
        return f64::INFINITY;
    }
    if exact.is_zero() {
        return 0.0;
    }
    let above = Exact::with_val(exact.prec(), 1) << (T::MAX_EXPONENT + 1);
    let clamped = |x: Exact| if x > above { above.clone() } else { x };
    let exact = clamped(exact.clone().abs());
    let got = clamped(Exact::with_val(exact.prec(), got.abs()));
    let exponent = (exact.get_exp().unwrap() - 1).clamp(T::LEAST, T::MAX_EXPONENT);
    let last = exponent - (T::PRECISION as i32 - 1);
    ((got - exact).abs() >> last).to_f64()
}

/// Whether the error is within the bound.
pub(crate) fn within(error: f64, bound: Ulp) -> bool {
    match bound {
        Ulp::Exact => error <= 0.5,
        Ulp::Within(most) => error <= f64::from(most),
        Ulp::Length(..) | Ulp::Free => panic!("no bound of its own"),
    }
}
