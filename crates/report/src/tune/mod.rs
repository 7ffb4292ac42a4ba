//! Tuning: searches and logs.

mod result;
mod text;

use tripipe_tune::{Candidates, SearchResult, StrategyKind};

pub use result::result;
pub use text::{differences, quality, results, search_summary};

/// A search for the fastest parameters of one problem on one device.
pub struct TuneReport<'r> {
    /// The family of kernels: `gemm`, `quantised`, `filter` or `kernel`.
    pub family: &'r str,
    /// What was computed, e.g. `f32 512x512x512` or `laplace 1920x1080x3 u8`.
    pub subject: &'r str,
    /// The device.
    pub device: &'r str,
    /// Whether the times are predicted.
    pub predicted: bool,
    /// The strategy.
    pub strategy: StrategyKind,
    /// What could be tried.
    pub candidates: &'r Candidates,
    /// What was tried, and the outcomes.
    pub result: &'r SearchResult,
    /// Arithmetic operations of the computation, if its rate is of interest.
    pub operations: Option<f64>,
    /// The parameters that the fastest are compared with, if they are not the library's choice.
    pub first: Option<&'r str>,
}
