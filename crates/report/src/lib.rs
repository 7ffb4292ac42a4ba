//! Renders results as text, JSON, CSV, SARIF, markdown and HTML; computes nothing.
//!
//! One module per kind of result, one file per format. Every function returns a string; the caller prints it.

pub mod analysis;
pub mod comparison;
pub mod counters;
pub mod devices;
pub mod diff;
pub mod findings;
pub mod histogram;
pub mod improvement;
pub mod ladder;
mod load;
mod number;
pub mod page;
pub mod peaks;
pub mod rules;
pub mod run;
pub mod schedule;
pub mod simulation;
mod style;
mod table;
pub mod tune;
pub mod validation;
pub mod verdict;
pub mod why;

pub use load::busy_cores;
pub(crate) use load::cpu_load;
pub use number::{bytes, giga, time};
pub use style::{Canvas, ascii, paragraph};
