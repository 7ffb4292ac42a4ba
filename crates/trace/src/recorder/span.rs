//! Slices of the host that end with a scope.

use std::borrow::Cow;
use std::time::Instant;

use super::{Recorder, recorder};
use crate::{ArgumentValue, Arguments, Slice};

/// A slice of the calling thread, from its creation until it is dropped.
#[must_use = "the slice ends when it is dropped"]
pub struct Span {
    recorder: &'static Recorder,
    start: Instant,
    name: String,
    category: &'static str,
    arguments: Arguments,
}

/// Begins a slice; `None` if nothing is recorded, and then `name` is not called.
pub fn span<N: Into<String>>(category: &'static str, name: impl FnOnce() -> N) -> Option<Span> {
    let recorder = recorder()?;
    let (name, arguments) = (name().into(), Arguments::default());
    Some(Span { recorder, start: Instant::now(), name, category, arguments })
}

impl Span {
    /// Adds a fact.
    pub fn note(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<ArgumentValue>) {
        self.arguments.push(name, value);
    }

    /// Adds a fact.
    #[allow(clippy::return_self_not_must_use, reason = "the type is `must_use`")]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<ArgumentValue>) -> Self {
        self.note(name, value);
        self
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let [start_ns, end_ns] = [self.recorder.at_ns(self.start), self.recorder.now_ns()];
        self.recorder.host(Slice {
            name: std::mem::take(&mut self.name),
            category: self.category.into(),
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            arguments: std::mem::take(&mut self.arguments),
        });
    }
}
