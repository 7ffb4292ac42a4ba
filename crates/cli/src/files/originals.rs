//! Programs, launch files and results that a command reads: none of its outputs may replace one.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Result, bail};
use tripipe_launch::locks::lock;

use super::input::{is_standard, shown};

/// The inputs and the outputs so far, as absolute paths without links.
static INPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static OUTPUTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Records a file that the command reads.
///
/// # Errors
/// An output of the command would replace it.
pub(crate) fn keep(path: &Path) -> Result<()> {
    enter(path, &INPUTS, &OUTPUTS)
}

/// Records a file that the command writes.
///
/// # Errors
/// It would replace an input of the command.
pub(super) fn replace(path: &Path) -> Result<()> {
    enter(path, &OUTPUTS, &INPUTS)
}

fn enter(path: &Path, own: &Mutex<Vec<PathBuf>>, others: &Mutex<Vec<PathBuf>>) -> Result<()> {
    // What does not exist is neither read nor replaced.
    let Ok(whole) = path.canonicalize() else { return Ok(()) };
    if is_standard(path) {
        return Ok(());
    }
    if lock(others).contains(&whole) {
        bail!(
            "{} is read by this command, which would replace it by its output; name another output",
            shown(path)
        );
    }
    lock(own).push(whole);
    Ok(())
}
