//! Why an operation of the CPU path was refused.

use thiserror::Error;
use tripipe_kernels::filter::FilterError;

/// Why an operation was refused. Whatever was refused has written nothing.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CpuError {
    /// A buffer has another length than the sizes ask for.
    #[error("{operation}: `{buffer}` has {found} elements where the sizes ask for {want}")]
    Length {
        /// The operation, as its function is called.
        operation: &'static str,
        /// The parameter that does not fit.
        buffer: &'static str,
        /// Elements it should have.
        want: usize,
        /// Elements it has.
        found: usize,
    },
    /// The sizes multiply to more elements than can be addressed.
    #[error("{operation}: `{buffer}` would have {} elements, more than can be addressed", product(sizes))]
    TooLarge {
        /// The operation, as its function is called.
        operation: &'static str,
        /// The parameter whose size overflows.
        buffer: &'static str,
        /// The factors of its size.
        sizes: Vec<usize>,
    },
    /// There is no such filter, or an image does not fit it.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

fn product(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// Checks that a buffer has as many elements as its sizes multiply to.
pub(super) fn check_length(
    operation: &'static str,
    buffer: &'static str,
    sizes: &[usize],
    found: usize,
) -> Result<(), CpuError> {
    let want = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    match want {
        Some(want) if want == found => Ok(()),
        Some(want) => Err(CpuError::Length { operation, buffer, want, found }),
        // A zero among the factors makes the product zero, however large the others are.
        None if sizes.contains(&0) => check_length(operation, buffer, &[0], found),
        None => Err(CpuError::TooLarge { operation, buffer, sizes: sizes.to_vec() }),
    }
}
