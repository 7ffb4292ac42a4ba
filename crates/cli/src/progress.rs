//! Progress of long work: a line on a terminal, nothing in a pipe.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal;

/// A line on standard error that is gone when the work is done.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Work of unknown length.
    pub(crate) fn spinner(doing: impl Into<String>) -> Self {
        let mut style = ProgressStyle::default_spinner();
        if terminal::is_ascii() {
            style = style.tick_chars("|/-\\ ");
        }
        let bar = ProgressBar::new_spinner().with_style(style).with_message(doing.into());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Work in pieces.
    pub(crate) fn pieces(all: usize) -> Self {
        let bar = ProgressBar::new(all as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}") {
            bar.set_style(if terminal::is_ascii() { style.progress_chars("#- ") } else { style });
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self(bar)
    }

    /// `done` of `all` pieces are done; this is being worked on.
    pub(crate) fn at(&self, done: usize, all: usize, doing: impl Into<String>) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
        self.0.set_message(doing.into());
    }

    /// Does what prints, the line out of its way.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.0.suspend(print)
    }

    /// What is being worked on.
    pub(crate) fn say(&self, doing: &str) {
        self.0.set_message(doing.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
