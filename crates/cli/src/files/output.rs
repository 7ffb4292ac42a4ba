//! Output files that are written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use anyhow::{Context, Result, bail};
use clap::Args;
use tempfile::{NamedTempFile, TempDir};
use tripipe_launch::locks::lock;

use super::input::{is_standard, shown};
use super::originals;
use crate::terminal::StandardOutput;

/// Temporary files and folders that an interruption must remove.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn pending() -> MutexGuard<'static, Vec<PathBuf>> {
    lock(&PENDING)
}

/// Where a command writes its result: its last argument, or an option.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct OutputPath {
    /// File to write; - for standard output. An existing file is replaced once the new one is complete.
    #[arg(value_name = "OUTPUT")]
    last: Option<PathBuf>,
    /// The same, as an option.
    #[arg(short, long, value_name = "OUTPUT")]
    output: Option<PathBuf>,
}

impl OutputPath {
    pub(crate) fn path(&self) -> &Path {
        self.last.as_deref().or(self.output.as_deref()).unwrap_or(Path::new("-"))
    }
}

/// The output `path` of the command line, for messages.
pub(crate) fn shown_output(path: &Path) -> String {
    if is_standard(path) { "standard output".to_owned() } else { shown(path) }
}

/// The destination of an output.
pub(crate) trait Sink: Write + Seek {}
impl<T: Write + Seek> Sink for T {}

/// An output file that was checked to be writable before there is anything to write.
///
/// A regular file is written next to its final path and renamed when it is complete; until then an existing file
/// stays. A device or a pipe is written directly.
pub(crate) struct Output {
    path: PathBuf,
    place: Destination,
}

enum Destination {
    Beside { file: NamedTempFile, target: PathBuf },
    Direct(File),
    Standard,
}

impl Output {
    /// As [`Self::open`]; the path `-` is standard output.
    ///
    /// # Errors
    /// As [`Self::open`]; standard output is a terminal, which cannot show binary data.
    pub(crate) fn open_or_standard(path: &Path) -> Result<Self> {
        if !is_standard(path) {
            return Self::open(path);
        }
        if io::stdout().is_terminal() {
            bail!("- writes to standard output, which is a terminal; pipe it, or name a file");
        }
        Ok(Self { path: path.to_owned(), place: Destination::Standard })
    }

    /// Where a command with this output reports what it did: standard output. If the output itself goes there, the
    /// report goes to standard error if `explain` was requested, and nowhere otherwise.
    pub(crate) fn report_destination<'o>(
        &self,
        out: &'o mut dyn Write,
        explain: bool,
    ) -> Box<dyn Write + 'o> {
        match (&self.place, explain) {
            (Destination::Standard, true) => Box::new(io::stderr()),
            (Destination::Standard, false) => Box::new(io::sink()),
            _ => Box::new(out),
        }
    }

    /// Opens an output.
    ///
    /// # Errors
    /// Its folder does not exist or is not writable, the path is a folder, the existing file is read-only, or the
    /// command reads it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = shown(path);
        if path.as_os_str().is_empty() {
            bail!("the output has an empty name; give it one, e.g. out.png");
        }
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            bail!("{shown} is a folder; name a file in it");
        }
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path);
            let file = file.with_context(|| format!("{shown} cannot be written; choose another output"))?;
            return Ok(Self { path: path.to_owned(), place: Destination::Direct(file) });
        }
        if existing.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
            bail!("{shown} is read-only; choose another output, or make it writable");
        }
        // A symbolic link is preserved: its target is replaced.
        let target = match path.canonicalize() {
            Ok(target) if existing.is_some() => target,
            _ if path.is_symlink() => {
                bail!(
                    "{shown} is a symbolic link to a file that does not exist; remove it, or choose another output"
                )
            }
            _ => path.to_owned(),
        };
        originals::replace(&target)?;
        let folder = match target.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => bail!("{shown} is not the name of a file"),
        };
        match fs::metadata(folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => bail!("{shown} cannot be written: {} is not a folder", folder.display()),
            Err(error) => {
                bail!(
                    "{shown} cannot be written: folder {}: {}; create it first",
                    folder.display(),
                    plain(&error)
                )
            }
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tripipe-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The permissions of any new file, restricted by the umask.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        // Under the lock, so that an interruption finds either no file or its name.
        let mut pending = pending();
        let file = builder.tempfile_in(folder).map_err(|error| {
            anyhow::anyhow!(
                "{shown} cannot be written: folder {}: {}; choose another folder",
                folder.display(),
                plain(&error)
            )
        })?;
        pending.push(file.path().to_owned());
        drop(pending);
        if let Some(metadata) = existing {
            // A replaced file keeps its permissions; where they cannot be set, those of a new file apply.
            let _ = fs::set_permissions(file.path(), metadata.permissions());
        }
        Ok(Self { path: path.to_owned(), place: Destination::Beside { file, target } })
    }

    /// Writes the complete file and moves it to its final path.
    ///
    /// # Errors
    /// `write` fails, or the disk is full. An existing file then stays as it was.
    pub(crate) fn write(self, write: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<()> {
        let shown = shown(&self.path);
        let context = || format!("{shown} could not be written");
        match self.place {
            Destination::Standard => {
                let mut bytes = Cursor::new(Vec::new());
                write(&mut bytes)?;
                let mut out = StandardOutput::lock();
                Ok(out.write_all(bytes.get_ref()).and_then(|()| out.flush())?)
            }
            Destination::Direct(file) => {
                let mut writer = BufWriter::new(file);
                write(&mut writer).and_then(|()| Ok(writer.flush()?)).with_context(context)
            }
            Destination::Beside { mut file, target } => {
                let mut writer = BufWriter::new(file.as_file_mut());
                write(&mut writer).and_then(|()| Ok(writer.flush()?)).with_context(context)?;
                drop(writer);
                let mut pending = pending();
                let temporary = file.path().to_owned();
                let kept = file.persist(&target);
                pending.retain(|path| *path != temporary);
                kept.map_err(|error| error.error).with_context(context)?;
                Ok(())
            }
        }
    }
}

/// Makes a temporary folder that an interruption removes.
///
/// # Errors
/// Those of `make`.
pub(super) fn keep_until_moved(make: impl FnOnce() -> io::Result<TempDir>) -> io::Result<TempDir> {
    // Under the lock, so that an interruption finds either no folder or its name.
    let mut pending = pending();
    let folder = make()?;
    pending.push(folder.path().to_owned());
    Ok(folder)
}

/// Removes the files of unfinished outputs. Opening and finishing outputs blocks while the guard exists.
pub(crate) fn abandon() -> impl Sized {
    let mut pending = pending();
    for path in pending.drain(..) {
        // What no longer exists needs no removal.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    pending
}

/// The system's message without the path, which the caller reports, and without the error number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end =
        [" at path", " (os error"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn appears_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let output = Output::open(&path).unwrap();
        assert!(!path.exists());
        output.write(|sink| Ok(sink.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_failed_write_preserves_the_existing_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        let error = Output::open(&path).unwrap().write(|sink| {
            sink.write_all(b"half of it")?;
            bail!("no more")
        });
        assert!(format!("{:#}", error.unwrap_err()).contains("out could not be written: no more"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(Output::open(&path).unwrap());
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    #[cfg(unix)]
    fn links_devices_and_permissions_are_preserved() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&target, &link).unwrap();
        Output::open(&link).unwrap().write(|sink| Ok(sink.write_all(b"new")?)).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_file(&target).unwrap();
        let error = Output::open(&link).err().unwrap();
        assert!(error.to_string().contains("a symbolic link to a file that does not exist"), "{error}");
        Output::open(Path::new("/dev/null")).unwrap().write(|sink| Ok(sink.write_all(b"x")?)).unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[test]
    fn unwritable_paths_are_rejected_early() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cases = [
            (folder.path().to_owned(), "is a folder"),
            (folder.path().join("missing/out.png"), "create it first"),
            (file.join("out.png"), "cannot be written"),
            (PathBuf::new(), "empty name"),
        ];
        for (path, want) in cases {
            let message = Output::open(&path).err().unwrap().to_string();
            assert!(message.contains(want), "{message}");
        }
        assert_eq!(names(folder.path()), ["file"]);
    }
}
