//! How long ceilings are measured.

/// The time budget of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a second: short runs over buffers slightly larger than the cache.
    Quick,
    /// Several seconds.
    Full,
}
