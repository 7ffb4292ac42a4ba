//! What the user asks for, in environment variables.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use tripipe_trace::TraceFile;

/// The driver, where there is no loader.
pub(crate) const DRIVER: &str = "TRIPIPE_LAYER_DRIVER";

/// The settings of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The driver to load.
    pub(crate) driver: Option<PathBuf>,
    /// A trace of calls and commands.
    pub(crate) trace: Option<TraceFile>,
    /// A text with all calls.
    pub(crate) log: Option<Output>,
    /// Leaks and misuse.
    pub(crate) report: Option<Output>,
    /// Whether to record where objects are made.
    pub(crate) backtraces: bool,
    /// Captures.
    pub(crate) capture: Option<Selection>,
    /// Whether to print what is wrong.
    prints: bool,
}

/// Where a text goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The standard error stream.
    Stderr,
    /// A file.
    File(PathBuf),
}

/// Which launches are captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// Names of kernels; all if there are none.
    pub(crate) kernels: Vec<String>,
    /// The first and the last enqueue.
    pub(crate) first: u64,
    pub(crate) last: Option<u64>,
    /// The most launches of each kernel.
    pub(crate) count: Option<u64>,
}

impl Settings {
    /// Those of the environment, read once.
    pub(crate) fn current() -> &'static Self {
        static CURRENT: OnceLock<Settings> = OnceLock::new();
        CURRENT.get_or_init(|| {
            let (settings, problems) = Self::of(|name| std::env::var_os(name));
            for problem in problems {
                settings.problem(&problem);
            }
            settings
        })
    }

    /// The settings that variables name, and what is wrong with them. A wrong one is left out.
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let output = |name: &str| {
            // Relative to the current folder of now, whatever it is at the end.
            set(name).map(|value| match value {
                dash if dash == "-" => Output::Stderr,
                path => Output::File(std::path::absolute(&path).unwrap_or(path.into())),
            })
        };
        let trace = set("TRIPIPE_LAYER_TRACE").and_then(|path| {
            let file = TraceFile::new(path.as_ref());
            file.map_err(|error| problems.push(format!("TRIPIPE_LAYER_TRACE: {error}"))).ok()
        });
        let is_on = |name: &str| set(name).is_some_and(|value| value != "0");
        let mut settings = Self {
            driver: set(DRIVER).map(PathBuf::from),
            trace,
            log: output("TRIPIPE_LAYER_LOG"),
            report: output("TRIPIPE_LAYER_REPORT"),
            backtraces: is_on("TRIPIPE_LAYER_BACKTRACE"),
            capture: None,
            prints: is_on("TRIPIPE_LOG"),
        };
        if let Some(folder) = set("TRIPIPE_LAYER_CAPTURE") {
            let mut number = |name: &str| {
                let value = set(name)?;
                let number = value.to_str().and_then(|value| value.trim().parse().ok());
                if number.is_none() {
                    problems.push(format!("{name}: {} is not a number; it is left out", value.display()));
                }
                number
            };
            let first = number("TRIPIPE_LAYER_CAPTURE_FIRST").unwrap_or(0);
            let last = number("TRIPIPE_LAYER_CAPTURE_LAST");
            let count = number("TRIPIPE_LAYER_CAPTURE_COUNT");
            let names = set("TRIPIPE_LAYER_CAPTURE_KERNEL").unwrap_or_default();
            let names = names.to_string_lossy();
            let kernels =
                names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let folder = std::path::absolute(&folder).unwrap_or(folder.into());
            settings.capture = Some(Selection { folder, kernels, first, last, count });
        }
        (settings, problems)
    }

    /// Whether there is anything to do.
    pub(crate) fn is_enabled(&self) -> bool {
        self.trace.is_some() || self.log.is_some() || self.report.is_some() || self.capture.is_some()
    }

    /// Prints what is wrong, if the user asks for it with `TRIPIPE_LOG=1`.
    pub(crate) fn problem(&self, what: &str) {
        if self.prints {
            Output::Stderr.write(&format!("tripipe layer: {what}\n"));
        }
    }
}

impl Output {
    /// Writes a text; a file is replaced. Nothing if that fails.
    pub(crate) fn write(&self, text: &str) {
        match self {
            // The stream may be closed, and `eprint` panics then.
            Self::Stderr => drop(std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes())),
            Self::File(path) => drop(std::fs::write(path, text)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        let (settings, problems) = settings(&[("TRIPIPE_LAYER_REPORT", "")]);
        assert!(!settings.is_enabled() && problems.is_empty());
    }

    #[test]
    fn captures_are_selected() {
        let (settings, problems) = settings(&[
            ("TRIPIPE_LAYER_CAPTURE", "/tmp/c"),
            ("TRIPIPE_LAYER_CAPTURE_KERNEL", "blur, scale"),
            ("TRIPIPE_LAYER_CAPTURE_FIRST", "3"),
            ("TRIPIPE_LAYER_CAPTURE_LAST", "many"),
            ("TRIPIPE_LAYER_CAPTURE_COUNT", "2"),
        ]);
        let selection = settings.capture.unwrap();
        assert_eq!(selection.kernels, ["blur", "scale"]);
        assert_eq!((selection.first, selection.last, selection.count), (3, None, Some(2)));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("TRIPIPE_LAYER_CAPTURE_LAST") && problems[0].contains("many"));
    }

    #[test]
    fn a_trace_that_cannot_be_written_is_a_problem() {
        let (settings, problems) = settings(&[("TRIPIPE_LAYER_TRACE", "/nowhere/t.json")]);
        assert!(settings.trace.is_none());
        assert!(problems[0].starts_with("TRIPIPE_LAYER_TRACE: /nowhere/t.json"), "{problems:?}");
        let (settings, _) = self::settings(&[("TRIPIPE_LAYER_REPORT", "-")]);
        assert_eq!(settings.report, Some(Output::Stderr));
    }
}
