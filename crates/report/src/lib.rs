//! Draws results as text, JSON and CSV; computes nothing.
//!
//! One module a kind of result, one file a format. Whoever prints decides where to: every function returns a string.

pub mod devices;
pub mod ladder;
mod number;
pub mod peaks;
mod style;
mod table;

pub use number::{bytes, giga, time};
pub use style::Canvas;
