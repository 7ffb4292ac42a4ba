//! Converts the errors of this crate to those of an executor.

use thiserror::Error;
use tripipe_launch::{ExecuteError, MemoryId};

use crate::code::CallError;
use crate::devices::Device;
use crate::kernel::LaunchError;
use crate::memory::MemoryError;
use crate::program::BuildError;

/// A driver error without a variant of its own in [`ExecuteError`].
#[derive(Debug, Error)]
#[error(transparent)]
enum Other {
    Call(#[from] CallError),
    Memory(#[from] MemoryError),
    Build(#[from] BuildError),
}

pub(super) fn call_error(device: &Device, bytes: u64, error: CallError) -> ExecuteError {
    if error.code.is_device_lost() {
        ExecuteError::DeviceLost {
            device: device.probe().name.clone(),
            during: error.call.to_owned(),
            reason: error.code.to_string(),
        }
    } else if error.code.is_out_of_memory() {
        ExecuteError::OutOfMemory { bytes, reason: error.to_string() }
    } else {
        ExecuteError::Backend { during: error.call.to_owned(), source: Box::new(Other::Call(error)) }
    }
}

pub(super) fn build_error(device: &Device, bytes: u64, error: BuildError) -> ExecuteError {
    match error {
        BuildError::Source { program, complaint, log } => ExecuteError::Build {
            program,
            part: complaint.part.map(String::from),
            line: complaint.line,
            summary: match complaint.text.as_str() {
                "" => complaint.message,
                text => format!("{} in `{text}`", complaint.message),
            },
            log,
        },
        BuildError::Options { program, ref options } => ExecuteError::Build {
            program,
            part: None,
            line: None,
            summary: format!("the compiler does not accept the options `{options}`"),
            log: String::new(),
        },
        BuildError::NotOffered { what, .. } => {
            ExecuteError::NotOffered { what: what.to_owned(), device: device.probe().name.clone() }
        }
        BuildError::Call { source, .. } => call_error(device, bytes, source),
    }
}

pub(super) fn launch_error(device: &Device, bytes: u64, error: LaunchError) -> ExecuteError {
    match error {
        LaunchError::NoSuchKernel { program, entry, kernels } => {
            ExecuteError::NoSuchKernel { program, entry, kernels }
        }
        LaunchError::Count { entry, want, found } => ExecuteError::ArgumentCount { entry, want, found },
        LaunchError::Argument { entry, index, name, want, found } => {
            ExecuteError::Argument { entry, index, name, want, found }
        }
        LaunchError::Range { entry, range, source } => {
            ExecuteError::Range { entry, range, reason: source.to_string() }
        }
        LaunchError::Call { source, .. } => call_error(device, bytes, source),
    }
}

pub(super) fn memory_error(
    device: &Device,
    memory: Option<MemoryId>,
    bytes: u64,
    error: MemoryError,
) -> ExecuteError {
    match (error, memory) {
        (MemoryError::Call(call), _) => call_error(device, bytes, call),
        (MemoryError::TooLarge { bytes, limit }, _) => ExecuteError::OutOfMemory {
            bytes,
            reason: format!("the device allocates at most {limit} bytes at once"),
        },
        (MemoryError::NotOffered { what }, _) => {
            ExecuteError::NotOffered { what, device: device.probe().name.clone() }
        }
        (error, Some(memory)) => ExecuteError::Memory { memory, reason: error.to_string() },
        (error, None) => {
            ExecuteError::Backend { during: "memory".to_owned(), source: Box::new(Other::Memory(error)) }
        }
    }
}
