//! Why a description is not a product.

use thiserror::Error;

/// An invalid description.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DescriptionError {
    /// A leading dimension so small that rows (columns) overlap.
    #[error(
        "{operand}: a leading dimension of {leading} is less than the {extent} elements of each row or column"
    )]
    Leading {
        /// The operand.
        operand: &'static str,
        /// The leading dimension.
        leading: usize,
        /// The minimum.
        extent: usize,
    },
    /// Two products of a batch would write to the same element.
    #[error(
        "products {first} and {second} of the batch overlap in C: a stride of {stride} elements is too small"
    )]
    Overlap {
        /// Index of the one product.
        first: usize,
        /// Index of the other product.
        second: usize,
        /// The stride of C.
        stride: usize,
    },
    /// Elements beyond the range of the kernels' 32-bit indices.
    #[error("{operand} reaches past element 2^32, where the kernels' indices end: split the product")]
    TooLarge {
        /// The operand, or the extent.
        operand: &'static str,
    },
    /// Sums of products of bytes that may exceed 32 bits.
    #[error("k is {k}: sums of more than {most} products of bytes do not fit 32 bits; split the product")]
    Sums {
        /// The length of the sums.
        k: usize,
        /// The maximum length.
        most: usize,
    },
    /// A factor or limit that the type of the sums cannot represent.
    #[error("{what} is {value}: {want}")]
    Number {
        /// The factor or limit.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        want: &'static str,
    },
    /// A multiplier and a shift of requantisation that are out of range.
    #[error(
        "pair {index} of the multipliers and shifts is {multiplier} and {shift}: a multiplier is at least 0, a shift 1 \
         to 62"
    )]
    Multiplier {
        /// The index of the pair.
        index: usize,
        /// The multiplier.
        multiplier: i32,
        /// The shift.
        shift: i32,
    },
    /// More stages than the kernels support.
    #[error("an epilogue of {found} stages: the kernels take {most}")]
    Stages {
        /// The number of stages.
        found: usize,
        /// The maximum number of stages.
        most: usize,
    },
}
