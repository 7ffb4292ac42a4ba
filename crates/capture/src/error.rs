//! Errors in captures.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tripipe_launch_file::FileError;

/// Why a capture cannot be imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// There is no captured enqueue.
    #[error(
        "{folder} has no captured enqueue: want the layer's dump folder, its folder Replay, or a folder \
        Enqueue_N_KERNEL in it; capture with CLI_CaptureReplay=1 (docs/capture.md)"
    )]
    None {
        /// The folder.
        folder: String,
    },
    /// A file or folder that cannot be read.
    #[error("{path} cannot be read: {error}; {way_out}")]
    Read {
        /// The file.
        path: String,
        /// What the system reports.
        error: io::Error,
        /// How to fix it.
        way_out: &'static str,
    },
    /// A file with contents that the layer does not write.
    #[error("{path}: {found}, but want {want}; capture it again, or delete the folder to import the others")]
    Malformed {
        /// The file.
        path: String,
        /// Its contents.
        found: String,
        /// What is valid.
        want: String,
    },
    /// The layer could store only the device's binary of a program.
    #[error(
        "{folder} has neither kernel.cl nor kernel.spv: the application loads a binary, which nothing but its \
        device can run; make it build from source (delete its cache of binaries) and capture again"
    )]
    OnlyBinary {
        /// The folder of the enqueue.
        folder: String,
    },
    /// An argument that cannot be restored.
    #[error("{folder}: argument {index} ({name}) {reason}")]
    Argument {
        /// The folder of the enqueue.
        folder: String,
        /// Its position, from 0.
        index: usize,
        /// Its name, or its type if it has no name.
        name: String,
        /// What is wrong, and the way out.
        reason: String,
    },
    /// The kernel is not in the program.
    #[error("{folder}: the program has no kernel `{kernel}`; it has {kernels}; capture it again")]
    NoSuchKernel {
        /// The folder of the enqueue.
        folder: String,
        /// The kernel's name.
        kernel: String,
        /// The kernels of the program.
        kernels: String,
    },
    /// A launch that a launch file cannot describe.
    #[error("{folder} cannot be written as a launch file: {error}")]
    Launch {
        /// The folder of the enqueue.
        folder: String,
        /// The reason.
        error: FileError,
    },
}

impl CaptureError {
    /// A file or folder that cannot be read.
    pub(crate) fn read(path: &Path, error: io::Error, way_out: &'static str) -> Self {
        Self::Read { path: path.display().to_string(), error, way_out }
    }

    /// A file with wrong contents.
    pub(crate) fn malformed(path: &Path, found: impl Into<String>, want: impl Into<String>) -> Self {
        Self::Malformed { path: path.display().to_string(), found: found.into(), want: want.into() }
    }
}

/// A path for messages.
pub(crate) fn shown(path: impl Into<PathBuf>) -> String {
    path.into().display().to_string()
}
