//! Floating-point types and their conversions.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Sub};

use half::f16;

use super::int::Int;

mod sealed {
    pub trait Sealed {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `half`, `float` or `double`: [`struct@f16`], [`f32`], [`f64`].
pub trait Float:
    sealed::Sealed + Copy + Debug + Default + PartialEq + PartialOrd + Send + Sync + 'static
{
    /// The type in which sums, products, quotients and square roots are computed: `f32` for `f16` and `f32`, `f64`
    /// for `f64`. One operation in it, [narrowed](Self::narrow), is correctly rounded for this type: `f32` has more
    /// than twice the digits of `f16`.
    type Real: Real;
    /// The unsigned integer of the same width.
    type Bits: Int;

    /// The sign bit.
    const SIGN: Self::Bits;
    /// The bits of infinity; those of a NaN without its sign are greater.
    const INFINITE: Self::Bits;
    /// The bits of a quiet NaN with payload 0.
    const QUIET: Self::Bits;
    /// Digits of the significand, including the hidden one.
    const PRECISION: u32;
    /// The exponent of the greatest number.
    const MAX_EXPONENT: i32;
    /// The greatest number below 1.
    const BELOW_ONE: Self;

    /// The same number with more digits; NaNs become quiet.
    fn widen(self) -> Self::Real;
    /// Rounds to nearest, ties to even; subnormals are preserved.
    fn narrow(real: Self::Real) -> Self;
    /// The same number, exactly.
    fn to_f64(self) -> f64;
    /// Rounds to nearest, ties to even, once; subnormals are preserved.
    fn nearest(number: f64) -> Self;
    /// The bits.
    fn to_bits(self) -> Self::Bits;
    /// The number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// `a * b + c`, rounded once. In code compiled for processors that may lack the FMA instruction, `f32` and `f64`
    /// call a function for each number, which is slow.
    #[must_use]
    fn mul_add(self, b: Self, c: Self) -> Self;
}

/// [`f32`] or [`f64`], with the operations that arithmetic needs.
pub trait Real:
    Float + From<f32> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Rounds down to an integer.
    #[must_use]
    fn floor(self) -> Self;
    /// Rounds up to an integer.
    #[must_use]
    fn ceil(self) -> Self;
    /// Rounds toward zero to an integer.
    #[must_use]
    fn trunc(self) -> Self;
    /// Rounds to an integer, ties away from zero.
    #[must_use]
    fn round(self) -> Self;
    /// Rounds to an integer, ties to even.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// Square root, correctly rounded.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Whether it is NaN.
    fn is_nan(self) -> bool;
}

macro_rules! real {
    ($float:ident, $bits:ident, $max_exponent:expr) => {
        impl Float for $float {
            type Real = Self;
            type Bits = $bits;

            const SIGN: $bits = 1 << ($bits::BITS - 1);
            const INFINITE: $bits = Self::INFINITY.to_bits();
            const QUIET: $bits = Self::INFINITE | Self::INFINITE >> 1;
            const PRECISION: u32 = Self::MANTISSA_DIGITS;
            const MAX_EXPONENT: i32 = $max_exponent;
            const BELOW_ONE: Self = 1.0 - Self::EPSILON / 2.0;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }

            #[inline(always)]
            fn narrow(real: Self) -> Self {
                real
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn nearest(number: f64) -> Self {
                number as Self
            }

            #[inline(always)]
            fn to_bits(self) -> $bits {
                self.to_bits()
            }

            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }

            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                $float::mul_add(self, b, c)
            }
        }

        impl Real for $float {
            #[inline(always)]
            fn floor(self) -> Self {
                $float::floor(self)
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                $float::ceil(self)
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                $float::trunc(self)
            }

            #[inline(always)]
            fn round(self) -> Self {
                $float::round(self)
            }

            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $float::round_ties_even(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                $float::is_nan(self)
            }
        }
    };
}

real!(f32, u32, 127);
real!(f64, u64, 1023);

/// The conversions are implemented here without branches, so that loops over them become vector code. The conversions
/// of `half` query the processor's features for every number, and round `f64` twice, through `f32`.
impl Float for f16 {
    type Real = f32;
    type Bits = u16;

    const SIGN: u16 = 1 << 15;
    const INFINITE: u16 = 0x7c00;
    const QUIET: u16 = 0x7e00;
    const PRECISION: u32 = Self::MANTISSA_DIGITS;
    const MAX_EXPONENT: i32 = 15;
    const BELOW_ONE: Self = Self::from_bits(0x3bff);

    #[inline(always)]
    fn widen(self) -> f32 {
        /// The difference of the exponent biases, shifted to the exponent field.
        const BIAS: u32 = (127 - 15) << 23;
        /// 2^-14, the smallest normal number.
        const LEAST: u32 = BIAS + (1 << 23);

        let bits = u32::from(Self::to_bits(self));
        let magnitude = (bits & 0x7fff) << 13;
        let exponent = bits & 0x7c00;
        let special = if exponent == 0x7c00 { BIAS } else { 0 };
        let quiet = if bits & 0x7fff > 0x7c00 { 1 << 22 } else { 0 };
        let normal = (magnitude + BIAS + special) | quiet;
        // A subnormal's digits after a leading one, which is then subtracted.
        let subnormal = f32::from_bits(magnitude | LEAST) - f32::from_bits(LEAST);
        let magnitude = if exponent == 0 { subnormal.to_bits() } else { normal };
        f32::from_bits(magnitude | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(real: f32) -> Self {
        /// 2^-14, the smallest normal number.
        const LEAST: u32 = (127 - 14) << 23;
        /// The number whose last digit has the value of a subnormal's last digit.
        const HALF: u32 = 126 << 23;

        let bits = real.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
        let normal = (rounded.wrapping_sub((127 - 15) << 23) >> 13).min(0x7c00);
        let subnormal = (f32::from_bits(magnitude) + f32::from_bits(HALF)).to_bits().wrapping_sub(HALF);
        let finite = if magnitude < LEAST { subnormal } else { normal };
        let nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
        let magnitude = if magnitude > 0x7f80_0000 { nan } else { finite };
        Self::from_bits((magnitude | bits >> 16 & 0x8000) as u16)
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.widen().into()
    }

    #[inline(always)]
    fn nearest(number: f64) -> Self {
        /// 2^-14, the smallest normal number.
        const LEAST: u64 = (1023 - 14) << 52;
        /// The number whose last digit has the value of a subnormal's last digit.
        const LAST: u64 = (1023 + 28) << 52;

        let bits = number.to_bits();
        let magnitude = bits & !(1 << 63);
        let rounded = magnitude + ((1 << 41) - 1) + (magnitude >> 42 & 1);
        let normal = (rounded.wrapping_sub((1023 - 15) << 52) >> 42).min(0x7c00);
        let subnormal = (f64::from_bits(magnitude) + f64::from_bits(LAST)).to_bits().wrapping_sub(LAST);
        let finite = if magnitude < LEAST { subnormal } else { normal };
        let nan = 0x7e00 | (magnitude >> 42 & 0x1ff);
        let magnitude = if magnitude > 0x7ff << 52 { nan } else { finite };
        Self::from_bits((magnitude | bits >> 48 & 0x8000) as u16)
    }

    #[inline(always)]
    fn to_bits(self) -> u16 {
        Self::to_bits(self)
    }

    #[inline(always)]
    fn from_bits(bits: u16) -> Self {
        Self::from_bits(bits)
    }

    /// The product is exact in `f64`. So is the sum, unless one term is less than a millionth of the last digit of
    /// the other; then its rounding has no effect.
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self::nearest(self.to_f64() * b.to_f64() + c.to_f64())
    }
}
