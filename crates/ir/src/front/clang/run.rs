//! Runs a tool in the temporary folder of a build.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::build::BuildError;

/// Files that are made of the text.
pub(super) const BITCODE: &str = "kernel.bc";
pub(super) const SPIRV: &str = "kernel.spv";

pub(super) struct Output {
    pub(super) output: Vec<u8>,
    pub(super) messages: String,
}

/// Runs a tool on files in `work`; the folder is removed from its messages.
pub(super) fn run(
    program: &Path,
    arguments: &[OsString],
    work: &Path,
    name: &str,
) -> Result<Output, BuildError> {
    let result = Command::new(program)
        .args(arguments)
        // Messages in one language, whatever the user's locale.
        .env("LC_ALL", "C")
        .env("CLANG_NO_DEFAULT_CONFIG", "1")
        .env_remove("CPATH")
        .env_remove("C_INCLUDE_PATH")
        .env_remove("CCC_OVERRIDE_OPTIONS")
        .output()
        .map_err(|error| BuildError::Start { program: program.display().to_string(), error })?;
    let place = work.join("").to_string_lossy().into_owned();
    let messages = String::from_utf8_lossy(&result.stderr).trim_end().replace(&place, "");
    if !result.status.success() {
        return Err(BuildError::Compile { name: name.to_owned(), messages });
    }
    Ok(Output { output: result.stdout, messages })
}
