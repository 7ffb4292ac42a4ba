//! What a vector, a matrix or an image is made of.

use half::f16;
use tripipe_kernels::elementwise::Number;
use tripipe_kernels::filter;
use tripipe_launch::ScalarType;

pub(crate) mod sealed {
    use super::{Number, ScalarType};

    /// What kernels are told of an element.
    pub trait Sealed: Sized {
        /// Its type.
        const SCALAR: ScalarType;
        /// As a number of a step.
        fn number(self) -> Number;
        /// From the bytes in which a reduction leaves an extreme, and how many those are.
        fn of_extreme(bytes: &[u8]) -> Option<(Self, usize)>;
    }
}

/// A number that lies in device memory as it does in the host's: `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `f16`, `f32`, `f64`.
pub trait Element: bytemuck::Pod + Default + PartialOrd + Send + Sync + sealed::Sealed {
    /// Its name in Rust.
    const NAME: &'static str;
}

/// A number that a channel of a pixel can be.
pub trait Pixel: Element {
    /// What filters call it.
    const PIXEL: filter::Element;
}

/// A floating-point number: `f16`, `f32`, `f64`.
pub trait Float: Element {}

impl Float for f16 {}
impl Float for f32 {}
impl Float for f64 {}

macro_rules! elements {
    ($($type:ident $scalar:ident $number:ident $wide:ident |$value:ident| $narrow:expr;)*) => {$(
        impl sealed::Sealed for $type {
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
            const PIXEL: filter::Element = filter::Element::$pixel;
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
