//! Output folders that are written completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::input::shown;
use super::output::{keep_until_moved, plain};

/// Writes files into a new folder: next to its final path, where it is moved when it is complete. The paths are
/// relative to it.
///
/// # Errors
/// The folder exists and is not empty, or cannot be written.
pub(crate) fn write(path: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let name = shown(path);
    check(path)?;
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => bail!("{name} cannot be written; name a new folder"),
    };
    if !parent.is_dir() {
        bail!("{name} cannot be written: {} is not a folder; create it first", parent.display());
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tripipe-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let failed = |error: std::io::Error| {
        anyhow::anyhow!("{name} cannot be written: {}; choose another folder with -o", plain(&error))
    };
    let temporary = keep_until_moved(|| builder.tempdir_in(parent)).map_err(failed)?;
    for (file, bytes) in files {
        let target = temporary.path().join(file);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&target, bytes).map_err(failed)?;
    }
    if path.is_dir() {
        // Empty, as checked; what was put there since stays, and the move fails.
        fs::remove_dir(path).map_err(failed)?;
    }
    fs::rename(temporary.path(), path).with_context(|| format!("{name} could not be written"))
}

/// Checks that a folder can be made at a path: there is nothing, or an empty folder.
///
/// # Errors
/// There is something.
pub(crate) fn check(path: &Path) -> Result<()> {
    let name = shown(path);
    match fs::read_dir(path) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!("{name} exists and is not empty; name another folder with -o");
            }
            Ok(())
        }
        Err(_) if path.symlink_metadata().is_ok() => {
            bail!("{name} exists and is not a folder that can be read; name another folder with -o")
        }
        Err(_) => Ok(()),
    }
}
