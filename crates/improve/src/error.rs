//! Why a search ends without a result.

use crate::syntax::SyntaxError;
use crate::{PriceError, VerifyError};

/// Why a kernel cannot be improved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A GPU cannot run the kernel.
    #[error("{gpu}: {error}")]
    Price {
        /// The GPU.
        gpu: String,
        /// Why.
        #[source]
        error: PriceError,
    },
    /// Rewrites cannot be verified.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Its source cannot be rewritten.
    #[error(transparent)]
    Source(#[from] SyntaxError),
    /// The GPUs compile different code, of which only one would be rewritten and verified.
    #[error(
        "{first} and {other} compile different code for the kernel, by macros that it tests; improve it for each alone"
    )]
    Differs {
        /// The GPU that the source is read for.
        first: String,
        /// One that compiles something else.
        other: String,
    },
}
