//! Elementwise operations on vectors, matrices and images: sums, products, activations, reductions, conversions,
//! histograms, the transpose.

mod array;
mod convert;
mod histogram;
mod map;
mod reduce;
mod scaled_sum;
mod transpose;

pub use array::{Array, ArrayMut};
pub use histogram::Counted;
pub use map::Elementwise;
pub use reduce::{ImagePosition, MatrixPosition, Summed};
