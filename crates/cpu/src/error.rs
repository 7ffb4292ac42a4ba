//! Errors of the operations of the CPU path.

use thiserror::Error;
use tripipe_kernels::elementwise::Grid;
use tripipe_kernels::filter::FilterError;
use tripipe_launch::ScalarType;

/// The reason why an operation was refused. A refused operation has written nothing.
///
/// Exhaustive, so that `tripipe` gives each a kind of its own errors.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CpuError {
    /// The length of a buffer does not match the sizes.
    #[error("{operation}: `{buffer}` has {found} elements, the sizes require {want}")]
    Length {
        /// The name of the function.
        operation: &'static str,
        /// The name of the parameter.
        buffer: &'static str,
        /// The expected number of elements.
        want: usize,
        /// The actual number of elements.
        found: usize,
    },
    /// The sizes multiply to more elements than can be addressed.
    #[error("{operation}: `{buffer}` would have {} elements, more than can be addressed", product(sizes))]
    TooLarge {
        /// The name of the function.
        operation: &'static str,
        /// The parameter whose size overflows.
        buffer: &'static str,
        /// The factors of its size.
        sizes: Vec<usize>,
    },
    /// A measurement computed a wrong result, so its time is meaningless.
    #[error("{operation}: computed {found}, expected {want}")]
    WrongResult {
        /// The name of the function.
        operation: &'static str,
        /// The value found.
        found: f64,
        /// The expected value.
        want: f64,
    },
    /// A sum of integers of 2^32 elements or more.
    #[error("the sum of {elements} integers exceeds 64 bits: convert them to f64")]
    SumTooLarge {
        /// The number of elements.
        elements: usize,
    },
    /// An operand is missing.
    #[error("operand {operand} is missing")]
    Operand {
        /// Its role.
        operand: String,
    },
    /// The filter does not exist, or an image does not fit it.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

fn product(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// Checks that a buffer has room for an operand of a grid. An empty one needs none.
pub(super) fn check_grid(
    operation: &'static str,
    buffer: &'static str,
    grid: &Grid,
    element: ScalarType,
    found: &[u8],
) -> Result<(), CpuError> {
    let found = found.len() / element.bytes();
    match grid.span() {
        Some(want) if want <= found => Ok(()),
        Some(want) => Err(CpuError::Length { operation, buffer, want, found }),
        None => Err(CpuError::TooLarge { operation, buffer, sizes: grid.extents.to_vec() }),
    }
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
        // A factor of zero makes the product zero, however large the others are.
        None if sizes.contains(&0) => check_length(operation, buffer, &[0], found),
        None => Err(CpuError::TooLarge { operation, buffer, sizes: sizes.to_vec() }),
    }
}
