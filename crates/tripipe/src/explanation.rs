//! What an operation did, and why.

/// What an operation did on which device, and why that way.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The device.
    pub device: String,
    /// The kernel, e.g. `eight-pixels`.
    pub kernel: String,
    /// Why this kernel, in one sentence.
    pub why: String,
    /// Seconds of the kernel itself: device time on OpenCL, wall time on the CPU path.
    pub seconds: f64,
    /// Seconds of packing and transposing ahead of it, when there was any.
    pub preparation_seconds: Option<f64>,
    /// Seconds of wall time in all: start-up, compilation and copies included.
    pub total_seconds: f64,
}
