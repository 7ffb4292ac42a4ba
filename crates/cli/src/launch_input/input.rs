//! What a command was given: a program or a launch file, from a file or from standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::files::input::is_standard;
use crate::files::output::plain;

/// What a command was given.
pub(super) enum LaunchInput {
    /// A launch file in TOML.
    Toml(String),
    /// A launch file of Oclgrind.
    Sim(String),
    /// A program in its file, which is not read yet.
    File { is_spirv: bool },
    /// A program from standard input.
    Program(Vec<u8>),
}

impl LaunchInput {
    /// Reads a launch file, or a program from standard input.
    ///
    /// # Errors
    /// It cannot be read, or its ending says that it is a launch file, and it is not text.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
        let read = || if is_standard(path) { standard_input() } else { contents(path) };
        Ok(match ending.as_str() {
            "toml" => Self::Toml(utf8(read()?, path)?),
            "sim" => Self::Sim(utf8(read()?, path)?),
            "cl" | "spv" => Self::File { is_spirv: ending == "spv" },
            _ => match String::from_utf8(read()?) {
                Ok(text) if is_launch_file(&text) => Self::Toml(text),
                _ if !is_standard(path) => Self::File { is_spirv: false },
                Ok(text) => Self::Program(text.into_bytes()),
                Err(error) => Self::Program(error.into_bytes()),
            },
        })
    }
}

/// Whether a text is a launch file in TOML and not OpenCL C: whether its first line that is neither empty nor starts
/// with `#` is a key or a table.
fn is_launch_file(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(line) = lines.next() else { return false };
    let key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-\"'".contains(c));
    line.starts_with('[') || line.split_once('=').is_some_and(|(first, _)| key(first.trim()))
}

/// Whether a program is a SPIR-V module, in either byte order.
pub(super) fn is_module(program: &[u8]) -> bool {
    const MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];
    let mut backwards = MAGIC;
    backwards.reverse();
    program.starts_with(&MAGIC) || program.starts_with(&backwards)
}

fn standard_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| anyhow!("standard input cannot be read: {}", plain(&error)))?;
    Ok(bytes)
}

fn contents(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    fs::read(path).map_err(|error| match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => anyhow!("{shown} is a folder; name a launch file in it"),
        _ => anyhow!("{shown} cannot be read: {}; check the path", plain(&error)),
    })
}

/// The text of a launch file.
fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        let shown = path.display();
        anyhow!("{shown} is not UTF-8 text, so it is not a launch file; see docs/launch-files.md")
    })
}
