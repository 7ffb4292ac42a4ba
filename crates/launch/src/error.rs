//! Errors of executors.

use std::error::Error;

use thiserror::Error;

use crate::MemoryId;

/// Why a launch, a build or a memory operation was rejected or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The program does not build.
    #[error("{program} does not build{}: {summary}", build_place(part.as_deref(), *line))]
    Build {
        /// Name of the program.
        program: String,
        /// Name of the part of its source that the line is in, when it has several.
        part: Option<String>,
        /// Line of the first compiler error, 1-based.
        line: Option<u32>,
        /// The first compiler error, on one line.
        summary: String,
        /// The complete compiler log.
        log: String,
    },
    /// The program has no such kernel.
    #[error("{program} has no kernel `{entry}`; it has {}", kernels.join(", "))]
    NoSuchKernel {
        /// Name of the program.
        program: String,
        /// The requested kernel.
        entry: String,
        /// The kernels of the program.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{entry}` takes {want} arguments, {found} were given")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// Number of arguments it takes.
        want: usize,
        /// Number of arguments given.
        found: usize,
    },
    /// An operand that is missing, given twice, or unknown.
    #[error("operand {operand} {problem}")]
    Operand {
        /// Its role.
        operand: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An argument whose kind, type or size does not match the declaration.
    #[error("kernel `{entry}`, argument {index} (`{name}`): expected {want}, found {found}")]
    Argument {
        /// The kernel.
        entry: String,
        /// 0-based position.
        index: usize,
        /// The argument's name; empty if the driver does not know it.
        name: String,
        /// The declaration.
        want: String,
        /// The argument given.
        found: String,
    },
    /// A global or local size that the kernel or device does not support.
    #[error("kernel `{entry}` cannot run {range}: {reason}")]
    Range {
        /// The kernel.
        entry: String,
        /// The requested range.
        range: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A memory object of this size cannot be allocated.
    #[error("{bytes} bytes do not fit the device: {reason}")]
    OutOfMemory {
        /// Requested bytes.
        bytes: u64,
        /// The limit that was exceeded.
        reason: String,
    },
    /// A memory object that does not exist, or has the wrong kind or size.
    #[error("memory object {}: {reason}", memory.0)]
    Memory {
        /// The object.
        memory: MemoryId,
        /// What is wrong.
        reason: String,
    },
    /// The device does not support the request.
    #[error("{device} does not support {what}")]
    NotOffered {
        /// What was requested.
        what: String,
        /// The device's name.
        device: String,
    },
    /// The device is lost or was reset.
    #[error("the device {device} stopped answering ({during}): {reason}")]
    DeviceLost {
        /// The device's name.
        device: String,
        /// The call that detected it.
        during: String,
        /// The driver's message.
        reason: String,
    },
    /// Any other error of the executor's backend.
    #[error("{during}: {source}")]
    Backend {
        /// The call that failed.
        during: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// The location of a compiler error in parentheses, as far as it is known.
fn build_place(part: Option<&str>, line: Option<u32>) -> String {
    match (part, line) {
        (Some(part), Some(line)) => format!(" ({part}, line {line})"),
        (None, Some(line)) => format!(" (line {line})"),
        (_, None) => String::new(),
    }
}
