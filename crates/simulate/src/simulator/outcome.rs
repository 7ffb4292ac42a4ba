//! The outcome of a launch.

use std::time::Duration;

use cranelift_entity::SecondaryMap;
use tripipe_ir::Block;
use tripipe_ir::diagnostic::{Finding, SourceLocation};

/// Statistics of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Number of work-items run.
    pub work_items: u64,
    /// Number of work-item executions of each block of the kernel.
    pub block_runs: SecondaryMap<Block, u64>,
    /// Threads that shared the work.
    pub threads: usize,
    /// Time from start to end, without building and loading the kernel.
    pub elapsed: Duration,
}

/// The outcome of a checked launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
    /// The checks that could not be made, one sentence each; empty when all requested checks were made.
    pub left_out: Vec<String>,
    /// Statistics of the run.
    pub report: Report,
}

/// A location in front of a message; empty if it is not known.
fn prefix(location: Option<&SourceLocation>) -> String {
    let Some(SourceLocation { file, line, column }) = location else { return String::new() };
    format!("{file}:{line}:{column}: ")
}

/// Why a launch has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A work-item executed an operation without a defined result.
    #[error("{}work-item {global:?} of kernel `{kernel}` {message}", prefix(location.as_ref()))]
    Fault {
        /// The kernel.
        kernel: String,
        /// What happened.
        message: String,
        /// The work-item's global id.
        global: [u64; 3],
        /// The source location, if known.
        location: Option<SourceLocation>,
    },
    /// A work-item waits in a loop for a value that will never be written.
    #[error(
        "{}work-item {global:?} of kernel `{kernel}` waits in a loop for a change of memory that never \
        comes: all others of its work-group have ended or wait too, and a work-group cannot wait for a \
        later one, because OpenCL may run them one after another",
        prefix(location.as_ref())
    )]
    Waits {
        /// The kernel.
        kernel: String,
        /// The work-item's global id.
        global: [u64; 3],
        /// The source location, if known.
        location: Option<SourceLocation>,
    },
    /// The kernel exceeded the step limit.
    #[error(
        "kernel `{kernel}` ran more than {steps} instructions without reaching its end: raise the limit, or \
        look for an endless loop"
    )]
    Steps {
        /// The kernel.
        kernel: String,
        /// The limit.
        steps: u64,
    },
}
