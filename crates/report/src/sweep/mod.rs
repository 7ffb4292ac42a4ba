//! Sweeps over the parameters of a kernel.

mod json;

use std::fmt::Display;

use tripipe_ladders::sweep::Heat;

pub use json::json;

/// A sweep of one computation on one device.
pub struct Report<'r, P> {
    /// The family of kernels: `gemm` or `filter`.
    pub family: &'r str,
    /// What was computed, e.g. `512x512x512` or `laplace of 1920x1080, 3 x u8`.
    pub subject: &'r str,
    /// The device.
    pub device: &'r str,
    /// Whether the times are predicted.
    pub predicted: bool,
    /// The candidates and their outcomes.
    pub heat: &'r Heat<P>,
    /// Arithmetic operations of the computation, if its rate is of interest.
    pub operations: Option<f64>,
    /// Seconds of a copy of the same number of bytes, if that was measured.
    pub copy_seconds: Option<f64>,
}

impl<P: Display> Report<'_, P> {
    /// The report as JSON.
    pub fn json(&self) -> String {
        json(self)
    }
}
