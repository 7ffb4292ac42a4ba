//! What can go wrong when something is run.

use std::error::Error;

use thiserror::Error;

use crate::MemoryId;

/// Why a launch, a build or a memory operation was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The program does not build.
    #[error("{program} does not build{}: {summary}", line.map(|line| format!(" (line {line})")).unwrap_or_default())]
    Build {
        /// Name of the program.
        program: String,
        /// First line the compiler complains about, 1-based.
        line: Option<u32>,
        /// The first complaint, on one line.
        summary: String,
        /// All the compiler said.
        log: String,
    },
    /// The program has no such kernel.
    #[error("{program} has no kernel `{entry}`; it has {}", kernels.join(", "))]
    NoSuchKernel {
        /// Name of the program.
        program: String,
        /// The kernel asked for.
        entry: String,
        /// The kernels there are.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{entry}` takes {want} arguments, {found} were given")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// How many it takes.
        want: usize,
        /// How many it was given.
        found: usize,
    },
    /// A plan bound to too many or too few memory objects.
    #[error("the plan has {want} operands, {found} were given")]
    Operands {
        /// How many it has.
        want: usize,
        /// How many it was given.
        found: usize,
    },
    /// An argument of another kind, type or size than the kernel declares.
    #[error("kernel `{entry}`, argument {index} (`{name}`): wants {want}, was given {found}")]
    Argument {
        /// The kernel.
        entry: String,
        /// 0-based position.
        index: usize,
        /// The argument's name, empty when the driver does not know it.
        name: String,
        /// What the kernel declares.
        want: String,
        /// What was passed.
        found: String,
    },
    /// A global or local size the kernel or device cannot take.
    #[error("kernel `{entry}` cannot run {range}: {reason}")]
    Range {
        /// The kernel.
        entry: String,
        /// The range asked for.
        range: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A memory object of this size cannot be had.
    #[error("{bytes} bytes do not fit the device: {reason}")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
        /// The limit that was hit.
        reason: String,
    },
    /// A memory object that is not there, or not of that kind or size.
    #[error("memory object {}: {reason}", memory.0)]
    Memory {
        /// The object.
        memory: MemoryId,
        /// What is wrong.
        reason: String,
    },
    /// The device does not offer what was asked for.
    #[error("{what} is not offered by {device}")]
    NotOffered {
        /// What was asked for.
        what: String,
        /// The device's name.
        device: String,
    },
    /// The device is gone, or was reset.
    #[error("the device {device} stopped answering ({during}): {reason}")]
    DeviceLost {
        /// The device's name.
        device: String,
        /// The call that noticed.
        during: String,
        /// What the driver said.
        reason: String,
    },
    /// Anything else the executor's own layer reports.
    #[error("{during}: {source}")]
    Backend {
        /// The call that failed.
        during: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
}
