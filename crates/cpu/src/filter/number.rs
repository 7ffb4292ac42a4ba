//! The types of pixels during the computation.

use bytemuck::Pod;
use tripipe_kernels::filter::PixelType;

use super::rows::{Pipe, Rows};

/// The type of a pixel's channel during the computation: `u8`, `i16`, `u16`, and `f32` for both floating-point types.
pub(super) trait Number: Pod + PartialOrd + Send + Sync {
    /// The type of pixels that are computed in it; both floating-point types in `f32`.
    const ELEMENT: PixelType;

    /// Whether it is a floating-point type.
    const REAL: bool = matches!(Self::ELEMENT, PixelType::F16 | PixelType::F32);

    /// The same number; every integer is exact.
    fn to_float(self) -> f32;

    /// The nearest number (ties to even), saturated; NaN becomes 0 in an integer type.
    fn from_float(value: f32) -> Self;

    /// The nearest number, saturated.
    fn from_integer(value: i32) -> Self;

    /// Whether it is NaN.
    fn is_nan(self) -> bool;

    /// Rows of this type.
    fn pipe<'a>(rows: Box<dyn Rows<Self> + 'a>) -> Pipe<'a>;

    /// The smaller of two; either one if they are unordered.
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger of two; either one if they are unordered.
    #[inline(always)]
    fn most(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
}

macro_rules! integer {
    ($($type:ty: $pipe:ident),*) => { $(
        impl Number for $type {
            const ELEMENT: PixelType = PixelType::$pipe;

            #[inline(always)]
            fn to_float(self) -> f32 {
                f32::from(self)
            }

            #[inline(always)]
            fn from_float(value: f32) -> Self {
                value.round_ties_even() as Self
            }

            #[inline(always)]
            fn from_integer(value: i32) -> Self {
                value.clamp(Self::MIN.into(), Self::MAX.into()) as Self
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            fn pipe<'a>(rows: Box<dyn Rows<Self> + 'a>) -> Pipe<'a> {
                Pipe::$pipe(rows)
            }
        }
    )* };
}

integer!(u8: U8, i16: I16, u16: U16);

impl Number for f32 {
    const ELEMENT: PixelType = PixelType::F32;

    #[inline(always)]
    fn to_float(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_float(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn from_integer(value: i32) -> Self {
        value as f32
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn pipe<'a>(rows: Box<dyn Rows<Self> + 'a>) -> Pipe<'a> {
        Pipe::F32(rows)
    }
}
