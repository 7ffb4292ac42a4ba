//! Files of timelines, written completely or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{Timeline, chrome_json, perfetto};

/// The forms of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Perfetto's binary form.
    Perfetto,
    /// Chrome's JSON form.
    ChromeJson,
}

impl TraceFormat {
    /// The form that a file's name ends in: `.pftrace` or `.perfetto-trace`, or `.json`.
    ///
    /// # Errors
    /// Another ending.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("").to_ascii_lowercase();
        match ending.as_str() {
            "pftrace" | "perfetto-trace" => Ok(Self::Perfetto),
            "json" => Ok(Self::ChromeJson),
            _ => Err(TraceError::Ending { path: path.to_owned() }),
        }
    }

    /// A timeline in this form.
    pub fn encode(self, timeline: &Timeline) -> Vec<u8> {
        match self {
            Self::Perfetto => perfetto(timeline),
            Self::ChromeJson => chrome_json(timeline).into_bytes(),
        }
    }
}

/// Why there is no file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The name does not tell the form.
    #[error(
        "{}: the name of a trace ends in .pftrace or .perfetto-trace (Perfetto), or in .json (Chrome JSON)",
        path.display()
    )]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("{}: the trace cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A file for a timeline, of known form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    path: PathBuf,
    format: TraceFormat,
}

impl TraceFile {
    /// A file that can be written: its folder accepts files.
    ///
    /// # Errors
    /// A name of unknown ending; the path is a folder; the folder does not exist, or accepts no file.
    pub fn new(path: &Path) -> Result<Self, TraceError> {
        let format = TraceFormat::of(path)?;
        let fail = |source| TraceError::Write { path: path.to_owned(), source };
        // Relative to the current folder of now, whatever it is when the file is written.
        let path = std::path::absolute(path).map_err(fail)?;
        if path.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        let file = Self { path, format };
        // The temporary file is removed.
        file.temporary().map_err(fail)?;
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The form of the file.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Writes the file. An existing one is replaced when the new one is complete.
    ///
    /// # Errors
    /// The disk is full, or the folder accepts no file. An existing file stays as it was.
    pub fn save(&self, timeline: &Timeline) -> Result<(), TraceError> {
        let fail = |source| TraceError::Write { path: self.path.clone(), source };
        let bytes = self.format.encode(timeline);
        let mut file = self.temporary().map_err(fail)?;
        file.write_all(&bytes).and_then(|()| file.flush()).map_err(fail)?;
        // A link stays: its target is replaced.
        let target = self.path.canonicalize().unwrap_or(self.path.clone());
        file.persist(target).map_err(|error| fail(error.error))?;
        Ok(())
    }

    fn temporary(&self) -> io::Result<tempfile::NamedTempFile> {
        let target = self.path.canonicalize().unwrap_or(self.path.clone());
        if fs::metadata(&target).is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tripipe-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The permissions of any new file, restricted by the umask.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(target.parent().unwrap_or(Path::new("/"))).map_err(|error| {
            // Without the path of the temporary file.
            error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
        })
    }
}

/// The number of each process: its own, or one that no other process has.
pub(crate) fn pids(timeline: &Timeline) -> Vec<u32> {
    let mut taken: BTreeSet<u32> = timeline.processes.iter().filter_map(|process| process.pid).collect();
    let mut next = 1;
    let number = |pid: Option<u32>| {
        pid.unwrap_or_else(|| {
            while !taken.insert(next) {
                next += 1;
            }
            next
        })
    };
    timeline.processes.iter().map(|process| process.pid).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn endings_select_the_form_and_others_are_errors() {
        for (name, format) in [
            ("a.pftrace", TraceFormat::Perfetto),
            ("a.b.PERFETTO-TRACE", TraceFormat::Perfetto),
            ("a.json", TraceFormat::ChromeJson),
        ] {
            assert_eq!(TraceFormat::of(Path::new(name)).unwrap(), format);
        }
        for name in ["a.trace", "json", "a", ""] {
            let message = TraceFormat::of(Path::new(name)).unwrap_err().to_string();
            assert!(message.contains(".pftrace") && message.contains(".json"), "{message}");
        }
    }

    #[test]
    fn an_existing_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.json");
        fs::write(&path, "old").unwrap();
        let file = TraceFile::new(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.save(&Timeline::default()).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("traceEvents"));
        assert_eq!(names(folder.path()), ["t.json"]);
    }

    #[test]
    fn paths_that_cannot_be_written_are_rejected_early() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("missing").join("t.json");
        assert!(matches!(TraceFile::new(&inside), Err(TraceError::Write { .. })));
        let own = folder.path().join("folder.json");
        fs::create_dir(&own).unwrap();
        assert!(matches!(TraceFile::new(&own), Err(TraceError::Write { .. })));
        assert_eq!(names(folder.path()), ["folder.json"]);
    }

    #[test]
    fn every_process_has_a_number_of_its_own() {
        let process = |pid| Process { pid, ..Process::default() };
        let processes = [None, Some(1), None, Some(3), None].map(process).to_vec();
        assert_eq!(pids(&Timeline { processes, ..Timeline::default() }), [2, 1, 4, 3, 5]);
    }
}
