//! What a vector, a matrix or an image is made of.

use half::f16;
use tripipe_kernels::filter;

mod sealed {
    pub trait Sealed {}
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

macro_rules! elements {
    ($($type:ident),*) => {$(
        impl sealed::Sealed for $type {}
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

elements!(u8, i8, u16, i16, u32, i32, f16, f32, f64);
pixels!(u8 U8, i16 I16, u16 U16, f16 F16, f32 F32);
