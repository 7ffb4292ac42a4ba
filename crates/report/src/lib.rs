//! Renders results as text, JSON, CSV, SARIF, markdown and HTML; computes nothing.
//!
//! One module per kind of result, one file per format. Every function returns a string; the caller prints it. Without
//! the feature `workbench` it has the results that need nothing but a kernel and the models of GPUs.

#![cfg_attr(
    not(feature = "workbench"),
    allow(dead_code, unused_imports, reason = "what the other results share with these")
)]

pub mod analysis;
pub mod comparison;
pub mod counters;
pub mod devices;
pub mod diff;
pub mod findings;
pub mod histogram;
#[cfg(feature = "workbench")]
pub mod improvement;
#[cfg(feature = "workbench")]
pub mod ladder;
mod load;
mod number;
#[cfg(feature = "workbench")]
pub mod page;
#[cfg(feature = "workbench")]
pub mod peaks;
pub mod rules;
#[cfg(feature = "workbench")]
pub mod run;
#[cfg(feature = "workbench")]
pub mod schedule;
pub mod simulation;
mod style;
mod table;
#[cfg(feature = "workbench")]
pub mod tune;
pub mod validation;
#[cfg(feature = "workbench")]
pub mod verdict;
#[cfg(feature = "workbench")]
pub mod why;

pub use load::busy_cores;
pub(crate) use load::cpu_load;
pub use number::{bytes, giga, time};
pub use style::{Canvas, ascii, paragraph};
