//! All calls, as a text.
//!
//! Lines are collected, as writing each would cost more than a cheap call may, and written before each call that does
//! work: if such a call crashes or hangs, the text has everything before it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::call::{Call, list, returned};
use crate::function::Function;
use crate::settings::Output;

/// Bytes that are collected.
const COLLECTED: usize = 1 << 14;

/// A text with a line for each call.
pub(crate) struct Log {
    start: Instant,
    state: Mutex<LogState>,
}

struct LogState {
    to: Box<dyn io::Write + Send>,
    lines: Vec<u8>,
}

impl Log {
    /// A log whose times count from `start`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(output: &Output, start: Instant) -> io::Result<Self> {
        let to: Box<dyn io::Write + Send> = match output {
            Output::Stderr => Box::new(io::stderr()),
            Output::File(path) => Box::new(File::create(path)?),
        };
        Ok(Self { start, state: Mutex::new(LogState { to, lines: Vec::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before a call: writes the lines, if it does work.
    pub(crate) fn before(&self, function: Function) {
        if !function.is_cheap() {
            self.lock().write();
        }
    }

    /// Adds a call.
    pub(crate) fn add(&self, call: &Call, kernel: Option<&str>) {
        let line = line(call, kernel, self.start);
        let mut state = self.lock();
        state.lines.extend_from_slice(line.as_bytes());
        if state.lines.len() >= COLLECTED {
            state.write();
        }
    }

    /// Writes all lines.
    pub(crate) fn finish(&self) {
        self.lock().write();
    }
}

impl LogState {
    fn write(&mut self) {
        if !self.lines.is_empty() {
            // A full disk does not stop the application.
            let _ = self.to.write_all(&self.lines);
            self.lines.clear();
        }
    }
}

/// Seconds, thread, function, arguments, result, duration.
fn line(call: &Call, kernel: Option<&str>, start: Instant) -> String {
    let [begin, end] = call.time;
    let seconds = begin.saturating_duration_since(start).as_secs_f64();
    let mut line = String::with_capacity(256);
    let _ = write!(line, "{seconds:.6} thread {} {}(", call.thread, call.function.name());
    list(&mut line, call.function, &call.arguments);
    if call.event != 0 {
        let _ = write!(line, ", event = {}", crate::call::pointer(call.event));
    }
    let micros = end.saturating_duration_since(begin).as_secs_f64() * 1e6;
    let _ = write!(line, ") = {} [{micros:.1} us", returned(call.function, call.code, call.result));
    if let Some(kernel) = kernel {
        let _ = write!(line, ", kernel {kernel}");
    }
    line.push_str("]\n");
    line
}
