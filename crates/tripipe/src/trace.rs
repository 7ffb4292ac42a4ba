//! Traces: what the library runs, and when, in a file for ui.perfetto.dev.
//!
//! A trace contains the builds of kernels, the calls that enqueue commands and transfers, waits, the operations of the CPU
//! path, and each kernel and transfer as the device executed it. With the environment variable `TRIPIPE_TRACE=FILE` a
//! program records from its start, and writes the file when it ends: when `main` returns, or calls `exit`. A process that
//! is killed or aborts writes nothing. Without the feature `opencl` the file is written whenever a context is dropped.
//!
//! The name of the file ends in `.pftrace` or `.perfetto-trace` (Perfetto) or in `.json` (Chrome JSON). A file that cannot
//! be written is an error of [`Context::new`](crate::Context::new). Commands that have not ended when the file is written
//! are left out; the trace says how many.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tripipe_launch::locks::lock;
use tripipe_trace::{Recorder, TraceFile, VARIABLE, install, recorder};

use crate::Error;

/// Where to write what is recorded.
static TARGET: Mutex<SavedFile> = Mutex::new(SavedFile { file: None, saved: 0 });

struct SavedFile {
    file: Option<TraceFile>,
    /// What was recorded when the file was written.
    saved: u64,
}

/// Starts recording in this process; the file is written when the process ends, and by [`save`]. Contexts that exist
/// already record only what the host does. A second call changes the file.
///
/// # Errors
/// A name of another ending; a folder that does not exist or accepts no file.
pub fn start(path: &Path) -> Result<(), Error> {
    let file = TraceFile::new(path)?;
    let mut target = lock(&TARGET);
    *target = SavedFile { file: Some(file), saved: 0 };
    install();
    save_at_exit();
    Ok(())
}

/// Writes what was recorded so far, and returns the path of the file; `None` if nothing is recorded. An existing file is
/// replaced when the new one is complete. Commands that have not ended are left out: call
/// [`Context::finish`](crate::Context::finish) before.
///
/// # Errors
/// The file that `TRIPIPE_TRACE` names cannot be written; the disk is full.
pub fn save() -> Result<Option<PathBuf>, Error> {
    let Some(recorder) = recorder() else { return Ok(None) };
    let mut target = lock(&TARGET);
    name_file(&mut target)?;
    write(&mut target, recorder)
}

/// Writes no file when the process ends, unless [`start`] or the next context names one again.
pub fn discard() {
    lock(&TARGET).file = None;
}

/// Starts recording if `TRIPIPE_TRACE` names a file, as every new context does. For programs that want to report a wrong
/// name before they do anything else.
///
/// # Errors
/// A name of another ending; a folder that does not exist or accepts no file.
pub fn start_from_environment() -> Result<(), Error> {
    if recorder().is_some() {
        name_file(&mut lock(&TARGET))?;
        // Again for each context: the driver of this one may have been loaded since.
        save_at_exit();
    }
    Ok(())
}

/// The file is that of the environment, unless one was given.
fn name_file(target: &mut MutexGuard<'_, SavedFile>) -> Result<(), Error> {
    if target.file.is_none()
        && let Some(path) = std::env::var_os(VARIABLE)
    {
        target.file = Some(TraceFile::new(Path::new(&path))?);
    }
    Ok(())
}

fn write(target: &mut MutexGuard<'_, SavedFile>, recorder: &Recorder) -> Result<Option<PathBuf>, Error> {
    let Some(file) = target.file.clone() else { return Ok(None) };
    let count = recorder.count();
    file.save(&recorder.timeline())?;
    target.saved = count;
    Ok(Some(file.path().to_owned()))
}

/// Writes what was recorded since the file was written. There is nobody left to report an error to.
extern "C" fn save_the_rest() {
    let save = || {
        let Some(recorder) = recorder() else { return };
        // Waits for a thread that is writing the file just now.
        let mut target = lock(&TARGET);
        if recorder.count() > target.saved || target.file.as_ref().is_some_and(|file| !file.path().exists()) {
            let _ = write(&mut target, recorder);
        }
    };
    // A panic must not leave a function that C calls.
    let _ = std::panic::catch_unwind(save);
}

#[cfg(feature = "opencl")]
fn save_at_exit() {
    // Where it cannot be registered, `save` still writes the file.
    let _ = tripipe_opencl::at_exit(save_the_rest);
}

#[cfg(not(feature = "opencl"))]
fn save_at_exit() {}

/// A context is dropped.
#[cfg(not(feature = "opencl"))]
pub(crate) fn context_dropped() {
    save_the_rest();
}
