//! The time limit of tuning.

use std::fmt::Display;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::interruption::EndsItself;

/// A time limit; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit(pub(super) Option<Duration>);

impl FromStr for Limit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text == "none" {
            return Ok(Self(None));
        }
        let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        limit.map(|limit| Self(Some(limit))).ok_or("want a number of seconds above 0, or none")
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{} s at most (--limit)", limit.as_secs_f64()),
            None => f.write_str("as long as it takes"),
        }
    }
}

/// The clock of several searches, and their interruption.
pub(super) struct Clock {
    ends: Option<Instant>,
    interruption: EndsItself,
}

impl Clock {
    pub(super) fn start(limit: Limit) -> Self {
        let ends = limit.0.and_then(|limit| Instant::now().checked_add(limit));
        Self { ends, interruption: EndsItself::begin() }
    }

    /// An equal share of the remaining time, for one of `searches`.
    pub(super) fn share(&self, searches: usize) -> Option<Duration> {
        let left = self.ends?.saturating_duration_since(Instant::now());
        Some(left / u32::try_from(searches.max(1)).unwrap_or(u32::MAX))
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interruption.is_interrupted()
    }
}
