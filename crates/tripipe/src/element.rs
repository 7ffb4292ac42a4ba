//! The element types of vectors, matrices and images.

use half::f16;
use tripipe_kernels::elementwise::Number;
use tripipe_kernels::filter;
use tripipe_launch::ScalarType;

pub(crate) mod sealed {
    use super::{Number, ScalarType};

    /// The properties of an element that kernels need.
    pub trait KernelElement: Sized {
        /// Its type.
        const SCALAR: ScalarType;
        /// The value as the operand of a step.
        fn number(self) -> Number;
        /// The value from the bytes that a reduction returns for an extreme, and the number of those bytes.
        fn of_extreme(bytes: &[u8]) -> Option<(Self, usize)>;
    }
}

/// A number with the same representation in device memory and in the host's: `u8`, `i8`, `u16`, `i16`, `u32`, `i32`,
/// `f16`, `f32`, `f64`.
pub trait Element: bytemuck::Pod + Default + PartialOrd + Send + Sync + sealed::KernelElement {
    /// Its name in Rust.
    const NAME: &'static str;
}

/// A number type for the channels of a pixel.
pub trait Pixel: Element {
    /// The corresponding element type of filters.
    const PIXEL: filter::PixelType;
}

/// A floating-point number: `f16`, `f32`, `f64`.
pub trait Float: Element {}

impl Float for f16 {}
impl Float for f32 {}
impl Float for f64 {}

macro_rules! elements {
    ($($type:ident $scalar:ident $number:ident $wide:ident |$value:ident| $narrow:expr;)*) => {$(
        impl sealed::KernelElement for $type {
            const SCALAR: ScalarType = ScalarType::$scalar;

            fn number(self) -> Number {
                Number::$number(self.into())
            }

            fn of_extreme(bytes: &[u8]) -> Option<(Self, usize)> {
                let $value = $wide::from_ne_bytes(*bytes.first_chunk()?);
                Some(($narrow, size_of::<$wide>()))
            }
        }
        impl Element for $type {
            const NAME: &'static str = stringify!($type);
        }
    )*};
}

macro_rules! pixels {
    ($($type:ident $pixel:ident),*) => {$(
        impl Pixel for $type {
            const PIXEL: filter::PixelType = filter::PixelType::$pixel;
        }
    )*};
}

elements! {
    u8 U8 Integer i32 |value| value as u8;
    i8 I8 Integer i32 |value| value as i8;
    u16 U16 Integer i32 |value| value as u16;
    i16 I16 Integer i32 |value| value as i16;
    u32 U32 Integer u32 |value| value;
    i32 I32 Integer i32 |value| value;
    f16 F16 Real f32 |value| f16::from_f32(value);
    f32 F32 Real f32 |value| value;
    f64 F64 Real f64 |value| value;
}
pixels!(u8 U8, i16 I16, u16 U16, f16 F16, f32 F32);
