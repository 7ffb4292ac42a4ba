//! A kernel that is rewritten.

use std::path::PathBuf;

use tripipe_launch_file::LaunchFile;

/// A kernel's source and a launch of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The source's name, for messages.
    pub name: String,
    /// The source: OpenCL C.
    pub source: String,
    /// The folder that is searched for includes in quotes, and that the launch file's paths are relative to.
    pub folder: PathBuf,
    /// The kernel.
    pub kernel: String,
    /// The launch: build options, range and arguments.
    pub launch: LaunchFile,
}
