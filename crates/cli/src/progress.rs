//! Progress of long work: one line on a terminal. In a pipe there is only a message if a compiler, or a run, takes long.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal;

/// A line on standard error that is removed when the work is done.
pub(crate) struct Progress {
    bar: ProgressBar,
    overdue: RefCell<Option<Overdue>>,
}

/// How long a compiler may take before a message reports it, if there is no terminal.
const LONG: Duration = Duration::from_secs(2);
/// The same of a run.
const LONG_RUN: Duration = Duration::from_secs(5);

impl Progress {
    /// Work of unknown length.
    pub(crate) fn spinner(doing: impl Into<String>) -> Self {
        let mut style = ProgressStyle::default_spinner();
        if terminal::is_ascii() {
            style = style.tick_chars("|/-\\ ");
        }
        let bar = ProgressBar::new_spinner().with_style(style).with_message(doing.into());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self::of(bar)
    }

    /// Work that another line reports.
    pub(crate) fn hidden() -> Self {
        Self::of(ProgressBar::hidden())
    }

    /// Work that consists mostly of compilation.
    pub(crate) fn compiler(doing: &str) -> Self {
        let progress = Self::spinner("");
        progress.compiles(doing);
        progress
    }

    fn of(bar: ProgressBar) -> Self {
        Self { bar, overdue: RefCell::new(None) }
    }

    /// Work that consists of pieces.
    pub(crate) fn pieces(all: usize) -> Self {
        let bar = ProgressBar::new(all as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}") {
            bar.set_style(if terminal::is_ascii() { style.progress_chars("#- ") } else { style });
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self::of(bar)
    }

    /// Reports that `done` of `all` pieces are done, and which one is next.
    pub(crate) fn at(&self, done: usize, all: usize, doing: impl Into<String>) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(doing.into());
    }

    /// Calls `print` while the line is hidden.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Reports the current work.
    pub(crate) fn say(&self, doing: &str) {
        self.overdue.take();
        self.bar.set_message(doing.to_owned());
    }

    /// Reports the current work, a run of which nothing is known, and `hint` if it takes long.
    pub(crate) fn runs(&self, doing: &str, hint: &str) {
        self.say(doing);
        self.warns_after(LONG_RUN, format!("note: still {doing}; {hint}\n"));
    }

    fn warns_after(&self, limit: Duration, line: String) {
        if self.bar.is_hidden() {
            *self.overdue.borrow_mut() = Overdue::after(limit, line, io::stderr());
        }
    }
}

impl Progress {
    /// Reports the current work, which may consist mostly of compilation.
    pub(crate) fn compiles(&self, doing: &str) {
        self.say(doing);
        self.warns_after(LONG, format!("note: {doing}\n"));
    }
}

/// A line that is written when something takes longer than a limit; dropping it earlier prevents that.
struct Overdue {
    /// Closed when the work is done.
    done: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

impl Overdue {
    /// `None` if no thread can be started.
    fn after(limit: Duration, line: String, mut to: impl Write + Send + 'static) -> Option<Self> {
        let (done, ended) = mpsc::channel();
        let watch = thread::Builder::new().name("overdue".to_owned()).spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // If this fails, nobody reads standard error.
                let _ = to.write_all(line.as_bytes());
            }
        });
        watch.ok().map(|watch| Self { done: Some(done), watch: Some(watch) })
    }
}

impl Drop for Overdue {
    fn drop(&mut self) {
        self.done.take();
        if let Some(watch) = self.watch.take() {
            // The thread cannot fail.
            let _ = watch.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::Overdue;

    /// A writer that sends everything it receives.
    struct SendingWriter(Sender<Vec<u8>>);

    impl Write for SendingWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_steps_are_reported_once() {
        let (told, line) = channel();
        let overdue = Overdue::after(Duration::ZERO, "compiling\n".to_owned(), SendingWriter(told));
        assert_eq!(line.recv().ok().as_deref(), Some(&b"compiling\n"[..]));
        drop(overdue);
        assert!(line.recv().is_err(), "reported twice");
    }

    #[test]
    fn short_steps_are_not_reported() {
        let (told, line) = channel();
        drop(Overdue::after(Duration::from_secs(86_400), "compiling\n".to_owned(), SendingWriter(told)));
        assert!(line.recv().is_err());
    }
}
