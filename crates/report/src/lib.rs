//! Draws results as text, JSON, CSV, SARIF and markdown; computes nothing.
//!
//! One module a kind of result, one file a format. Whoever prints decides where to: every function returns a string.

pub mod analysis;
pub mod devices;
pub mod findings;
pub mod histogram;
pub mod ladder;
mod number;
pub mod peaks;
pub mod rules;
pub mod run;
mod style;
mod table;

pub use number::{bytes, giga, time};
pub use style::{Canvas, ascii};
