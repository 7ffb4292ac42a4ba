//! Matrices and images from other crates' types, each behind a feature with the crate's name.

#[cfg(feature = "image")]
mod image;
#[cfg(feature = "ndarray")]
mod ndarray;

#[cfg(feature = "image")]
pub use self::image::Depth;
