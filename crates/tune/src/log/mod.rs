//! The log of trials: JSON lines, appended only. A line reports that a trial starts before it starts, so that a
//! candidate that takes the machine down is known, too.

mod entry;

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::kernel::FAMILY;
use crate::{Outcome, Trial};
pub use entry::{Event, FORMAT, LogDevice, LogEntry, TrialSubject};

/// A log that is open for appending, locked against other tuners.
#[derive(Debug)]
pub struct TuningLog {
    path: PathBuf,
    file: File,
    contents: LogContents,
}

/// The contents of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogContents {
    /// The lines, in order.
    pub entries: Vec<LogEntry>,
    /// Number of lines that end in the middle: the machine stopped while they were written.
    pub torn: usize,
}

/// Why a log cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read, made or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The log.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is read-only.
    #[error("{}: the log is read-only; make it writable, or name another one", path.display())]
    ReadOnly {
        /// The log.
        path: PathBuf,
    },
    /// Another tuner has it.
    #[error(
        "{}: another process is writing to this log; wait until it ends, or name another log (logs can be merged)",
        path.display()
    )]
    Locked {
        /// The log.
        path: PathBuf,
    },
    /// A newer version wrote it.
    #[error(
        "{}, line {line}: this log has format {format}, and this version knows formats up to {FORMAT}: \
        update Tripipe, or name another log",
        path.display()
    )]
    Newer {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Its format.
        format: u32,
    },
    /// A line that is not one of a log.
    #[error("{}, line {line}: not a line of a tuning log: {source}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The cause.
        source: serde_json::Error,
    },
}

/// All that a line of every format has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl LogContents {
    /// Reads a log that another process may be writing.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not a log of a format that this version knows.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|source| LogError::File { path: path.to_owned(), source })?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, LogError> {
        let mut contents = Self::default();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |source| LogError::Line { path: path.to_owned(), line: index + 1, source };
            let entry = match serde_json::from_slice::<Version>(line) {
                Ok(Version { format }) if format > FORMAT => {
                    return Err(LogError::Newer { path: path.to_owned(), line: index + 1, format });
                }
                Ok(_) => serde_json::from_slice(line).map_err(wrong)?,
                // A line that ends in the middle, be it within a number.
                Err(error) if line.starts_with(b"{") && (error.is_eof() || !line.ends_with(b"}")) => {
                    contents.torn += 1;
                    continue;
                }
                Err(error) => return Err(wrong(error)),
            };
            contents.entries.push(entry);
        }
        Ok(contents)
    }

    /// Outcomes for a problem on a device with its driver: for each set of parameters the last one.
    pub fn outcomes(&self, subject: &TrialSubject) -> HashMap<&str, &Outcome> {
        let own = self.entries.iter().filter(|entry| entry.is_about(subject));
        own.filter_map(|entry| Some((entry.parameters.as_str(), entry.outcome.as_ref()?))).collect()
    }

    /// Parameters that are not tried again on a device with its driver, for any problem of the family: they crashed,
    /// hung, ran out of memory or lost the device, or started and never ended. Of a user's kernel, only those of the same
    /// code count.
    pub fn dangerous(&self, subject: &TrialSubject) -> HashSet<&str> {
        let family = subject.problem.split_whitespace().next().unwrap_or_default();
        let mut started: HashMap<(&str, &str), usize> = HashMap::new();
        let mut dangerous = HashSet::new();
        let is_own = |entry: &&LogEntry| match family {
            FAMILY => entry.problem == subject.problem,
            family => entry.family() == family,
        };
        let own = self.entries.iter().filter(is_own).filter(|entry| entry.device.is_same(&subject.device));
        for entry in own {
            let open = started.entry((&entry.problem, &entry.parameters)).or_default();
            match entry.event {
                Event::Started => *open += 1,
                Event::Ended => *open = open.saturating_sub(1),
            }
            if entry.outcome.as_ref().is_some_and(Outcome::is_dangerous) {
                dangerous.insert(entry.parameters.as_str());
            }
        }
        let open = started.into_iter().filter(|(_, open)| *open > 0);
        dangerous.extend(open.map(|((_, parameters), _)| parameters));
        dangerous
    }

    /// The lines of several logs, in the order of their dates, equal ones once.
    #[must_use]
    pub fn merge(all: Vec<Self>) -> Self {
        let mut merged = Self::default();
        let mut seen = HashSet::new();
        for contents in all {
            merged.torn += contents.torn;
            for entry in contents.entries {
                // Every entry can be written as JSON: it was read from there.
                if seen.insert(serde_json::to_string(&entry).unwrap_or_default()) {
                    merged.entries.push(entry);
                }
            }
        }
        // Stable: lines of one moment keep the order of their log.
        merged.entries.sort_by(|a, b| a.date.cmp(&b.date));
        merged
    }

    /// The lines as text.
    ///
    /// # Errors
    /// None in practice: JSON can represent every entry.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        self.entries.iter().map(|entry| Ok(serde_json::to_string(entry)? + "\n")).collect()
    }
}

impl TuningLog {
    /// Opens a log, or makes it, and locks it until it is dropped. A last line that ends in the middle is closed.
    ///
    /// # Errors
    /// A file that cannot be written or is not a log of a known format; another process that writes to it.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let failed = |source| LogError::File { path: path.to_owned(), source };
        // Root may write to read-only files, and is not supposed to.
        let read_only = std::fs::metadata(path).is_ok_and(|found| found.permissions().readonly());
        if read_only {
            return Err(LogError::ReadOnly { path: path.to_owned() });
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let contents = LogContents::parse(path, &bytes)?;
        if bytes.last().is_some_and(|last| *last != b'\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), file, contents })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All lines, including those that were appended.
    pub fn contents(&self) -> &LogContents {
        &self.contents
    }

    /// Reports that a trial starts. The line is on the disk when this returns, so that it outlives a power cut that the
    /// trial causes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn start(&mut self, subject: &TrialSubject, parameters: &str) -> Result<(), LogError> {
        self.append(subject.started(parameters))?;
        self.file.sync_data().map_err(|source| LogError::File { path: self.path.clone(), source })
    }

    /// Reports the outcome of a trial.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(
        &mut self,
        subject: &TrialSubject,
        trial: &Trial,
        predicted: Option<f64>,
    ) -> Result<(), LogError> {
        self.append(subject.ended(trial, predicted))
    }

    /// A second handle on the same log, with the same lock, for a search of another device that runs at the same time.
    /// Each handle knows what the log had when it was made, and what it has appended itself.
    ///
    /// # Errors
    /// The system has no more file handles.
    pub fn share(&self) -> Result<Self, LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        let file = self.file.try_clone().map_err(failed)?;
        Ok(Self { path: self.path.clone(), file, contents: self.contents.clone() })
    }

    /// Reports that a trial was given up before the candidate had an outcome: nothing could be measured, or the
    /// measurement was cancelled.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn abandon(&mut self, subject: &TrialSubject, parameters: &str) -> Result<(), LogError> {
        self.append(subject.abandoned(parameters))
    }

    fn append(&mut self, entry: LogEntry) -> Result<(), LogError> {
        let failed = |source| LogError::File { path: self.path.clone(), source };
        let line = serde_json::to_string(&entry).map_err(|error| failed(error.into()))? + "\n";
        // One call, so that lines are whole or absent unless the machine stops.
        self.file.write_all(line.as_bytes()).map_err(failed)?;
        self.contents.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;

    fn subject(driver: &str, problem: &str) -> TrialSubject {
        let device = LogDevice { name: "GPU".to_owned(), driver: driver.to_owned(), ..LogDevice::default() };
        TrialSubject { device, host: "h".to_owned(), problem: problem.to_owned() }
    }

    fn trial(parameters: &str, outcome: Outcome) -> Trial {
        Trial { parameters: parameters.to_owned(), outcome }
    }

    fn measured(seconds: f64) -> Outcome {
        Outcome::Measured(Times::predicted(seconds))
    }

    fn crashed() -> Outcome {
        Outcome::Crashed { reason: "signal 11".to_owned() }
    }

    #[test]
    fn what_is_appended_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let gemm = subject("1", "gemm f32 8x8x8");
        let mut log = TuningLog::open(&path).unwrap();
        log.start(&gemm, "tile 4x4").unwrap();
        log.end(&gemm, &trial("tile 4x4", measured(1e-3)), Some(2e-3)).unwrap();
        log.start(&gemm, "tile 8x8").unwrap();
        log.end(&gemm, &trial("tile 8x8", crashed()), None).unwrap();
        let read = LogContents::read(&path).unwrap();
        assert_eq!(&read, log.contents());
        assert_eq!((read.entries.len(), read.torn), (4, 0));
        assert_eq!(read.entries[1].predicted, Some(2e-3));
        assert_eq!(read.outcomes(&gemm)["tile 4x4"], &measured(1e-3));
        drop(log);
        // Appended again, not overwritten.
        let mut log = TuningLog::open(&path).unwrap();
        log.end(&gemm, &trial("tile 4x4", measured(3e-3)), None).unwrap();
        assert_eq!(log.contents().entries.len(), 5);
        assert_eq!(log.contents().outcomes(&gemm)["tile 4x4"], &measured(3e-3));
        assert_eq!(
            LogContents::read(&path).unwrap().to_text().unwrap().into_bytes(),
            std::fs::read(&path).unwrap()
        );
    }

    /// Cut after every byte of the last line: what was before it is kept, and the log can be continued.
    #[test]
    fn a_torn_last_line_loses_at_most_one_trial() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let gemm = subject("1", "gemm f32 8x8x8");
        let mut log = TuningLog::open(&path).unwrap();
        log.start(&gemm, "tile 4x4").unwrap();
        let whole = std::fs::metadata(&path).unwrap().len() as usize;
        log.end(&gemm, &trial("tile 4x4", measured(1e-3)), None).unwrap();
        drop(log);
        let bytes = std::fs::read(&path).unwrap();
        for length in whole..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let mut log = TuningLog::open(&path).unwrap();
            let cut = length > whole && length < bytes.len() - 1;
            assert_eq!(log.contents().torn, usize::from(cut), "{length}");
            // Started and never ended, unless only the end of the line is missing.
            let ended = length == bytes.len() - 1;
            assert_eq!(log.contents().dangerous(&gemm).contains("tile 4x4"), !ended, "{length}");
            log.end(&gemm, &trial("tile 2x4", measured(1.0)), None).unwrap();
            drop(log);
            let read = LogContents::read(&path).unwrap();
            assert_eq!(read.torn, usize::from(cut), "{length}");
            assert_eq!(read.entries.last().unwrap().parameters, "tile 2x4");
        }
    }

    #[test]
    fn parameters_that_are_dangerous_are_so_for_the_family_on_the_driver() {
        let gemm = subject("1", "gemm f32 8x8x8");
        let entries = vec![
            gemm.started("tile 1x4"),
            gemm.ended(&trial("tile 1x4", crashed()), None),
            gemm.started("tile 2x4"),
            gemm.ended(&trial("tile 2x4", measured(1.0)), None),
            gemm.started("tile 3x4"),
            gemm.started("tile 4x4"),
            gemm.ended(&trial("tile 4x4", Outcome::Wrong { reason: "x".to_owned() }), None),
            // A trial that was cut off and later ended well.
            gemm.started("tile 5x4"),
            gemm.started("tile 5x4"),
            gemm.ended(&trial("tile 5x4", measured(1.0)), None),
        ];
        let contents = LogContents { entries, torn: 0 };
        let dangerous = |driver: &str, problem: &str| {
            let subject = subject(driver, problem);
            let mut all: Vec<&str> = contents.dangerous(&subject).into_iter().collect();
            all.sort_unstable();
            all.join(",")
        };
        assert_eq!(dangerous("1", "gemm f32 8x8x8"), "tile 1x4,tile 3x4,tile 5x4");
        assert_eq!(dangerous("1", "gemm f16 9x9x9"), "tile 1x4,tile 3x4,tile 5x4");
        assert_eq!(dangerous("2", "gemm f32 8x8x8"), "");
        assert_eq!(dangerous("1", "filter laplace 8x8x1 u8"), "");
    }

    /// Equal parameters of two kernels, or of one before and after a change, have nothing in common.
    #[test]
    fn dangerous_parameters_of_a_kernel_are_those_of_its_code() {
        let kernel = subject("1", "kernel a.toml:sum 0123");
        let contents = LogContents { entries: vec![kernel.ended(&trial("WG=64", crashed()), None)], torn: 0 };
        let dangerous = |problem: &str| contents.dangerous(&subject("1", problem)).len();
        assert_eq!(dangerous("kernel a.toml:sum 0123"), 1);
        assert_eq!(dangerous("kernel a.toml:sum 4567"), 0);
    }

    #[test]
    fn two_tuners_do_not_write_to_one_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let first = TuningLog::open(&path).unwrap();
        let second = TuningLog::open(&path);
        assert!(matches!(second, Err(LogError::Locked { .. })), "{second:?}");
        assert!(LogContents::read(&path).is_ok());
        // A handle of the same tuner shares the lock, and appends to the same file.
        let mut shared = first.share().unwrap();
        drop(first);
        assert!(matches!(TuningLog::open(&path), Err(LogError::Locked { .. })));
        shared.start(&subject("1", "gemm f32 8x8x8"), "tile 4x4").unwrap();
        assert_eq!(LogContents::read(&path).unwrap(), *shared.contents());
        drop(shared);
        assert_eq!(TuningLog::open(&path).unwrap().contents().entries.len(), 1);
    }

    #[test]
    fn logs_that_cannot_be_used_are_left_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let entry = serde_json::to_string(&subject("1", "gemm f32 8x8x8").started("tile 4x4")).unwrap();
        let newer = entry.replacen("\"format\":1", "\"format\":2", 1).replace("parameters", "point");
        for (text, want) in [
            (
                format!("{entry}\n{newer}\n"),
                "line 2: this log has format 2, and this version knows formats up to 1",
            ),
            (format!("{entry}\nhello\n"), "line 2: not a line of a tuning log"),
            ("{\"format\":1}\n".to_owned(), "line 1: not a line of a tuning log: missing field"),
            ("[[entry]]\n".to_owned(), "line 1: not a line"),
        ] {
            std::fs::write(&path, &text).unwrap();
            for error in [TuningLog::open(&path).err(), LogContents::read(&path).err()] {
                let error = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(error.contains(want), "{text}: {error}");
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, format!("{entry}\n")).unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        assert!(matches!(TuningLog::open(&path), Err(LogError::ReadOnly { .. })));
        assert_eq!(LogContents::read(&path).unwrap().entries.len(), 1);
        assert!(matches!(TuningLog::open(folder.path()), Err(LogError::File { .. })));
        assert!(matches!(LogContents::read(&folder.path().join("no")), Err(LogError::File { .. })));
    }

    #[test]
    fn logs_merge_by_date_without_duplicates() {
        let gemm = subject("1", "gemm f32 8x8x8");
        let at =
            |date: &str, parameters: &str| LogEntry { date: date.to_owned(), ..gemm.started(parameters) };
        let log = |entries: &[LogEntry]| LogContents { entries: entries.to_vec(), torn: 1 };
        let a = log(&[at("2026-01-01", "a"), at("2026-01-03", "c"), at("2026-01-03", "d")]);
        let b = log(&[at("2026-01-02", "b"), at("2026-01-03", "c")]);
        let merged = LogContents::merge(vec![a.clone(), b.clone()]);
        let order: String = merged.entries.iter().map(|entry| entry.parameters.as_str()).collect();
        assert_eq!((order.as_str(), merged.torn), ("abcd", 2));
        let again = LogContents::merge(vec![merged.clone(), b, a]);
        assert_eq!(again.entries, merged.entries);
    }
}
