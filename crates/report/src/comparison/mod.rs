//! A capture beside a prediction ([`tripipe_timing::counters::CaptureComparison`]).

mod result;
mod text;

pub use result::result;
pub use text::text;

use tripipe_device::Gpu;
use tripipe_timing::Prediction;
use tripipe_timing::counters::CaptureComparison;

/// A factor between measured and predicted values that counts as near.
pub(crate) const NEAR: f64 = 1.25;

/// A capture beside the prediction of a launch.
pub struct Report<'a> {
    /// The name of the capture.
    pub capture: &'a str,
    /// The kernel's name.
    pub kernel: &'a str,
    /// The name of its program.
    pub program: &'a str,
    /// The GPU.
    pub gpu: &'a Gpu,
    /// How often the launch ran in the capture.
    pub launches: u64,
    /// Whether arguments that were not given, and sizes of memory, are guesses.
    pub guessed: bool,
    /// The prediction.
    pub prediction: &'a Prediction,
    /// Row by row.
    pub comparison: &'a CaptureComparison,
}
