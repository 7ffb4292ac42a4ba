//! GPU models as data with sources, and the matching of a live device to its model.

pub mod probe;

pub use probe::{DeviceKind, ImageLimits, Probe, Svm};
