//! The time limit of a sweep, and its interruption.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::{Duration, Instant};

use tripipe_ladders::sweep::SweepProgress;

use crate::interruption::EndsItself;

/// The time limit of a sweep; `None` for no limit.
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

/// The first tries end at this fraction of the available time; the rest is for the finals.
const LOOKING: f64 = 0.7;

/// The clock of a sweep, and its interruption.
pub(super) struct Clock {
    ends: Option<Instant>,
    interruption: EndsItself,
}

/// The time for one part of a sweep.
pub(super) struct Share {
    looks_end: Option<Instant>,
    ends: Option<Instant>,
}

impl Clock {
    pub(super) fn start(limit: Limit) -> Self {
        let ends = limit.0.and_then(|limit| Instant::now().checked_add(limit));
        Self { ends, interruption: EndsItself::begin() }
    }

    /// An equal share of the remaining time, for one of `parts` parts.
    pub(super) fn share(&self, parts: usize) -> Share {
        let now = Instant::now();
        let left = self.ends.map(|ends| ends.saturating_duration_since(now) / parts.max(1) as u32);
        let after = |share: f64| left.and_then(|left| now.checked_add(left.mul_f64(share)));
        Share { looks_end: after(LOOKING), ends: after(1.0) }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interruption.is_interrupted()
    }

    /// Whether a sweep continues with a step: the first candidate is always tried, unless it was interrupted.
    pub(super) fn goes_on<P>(&self, share: &Share, stage: &SweepProgress<'_, P>) -> ControlFlow<()> {
        let over = match stage {
            SweepProgress::First { done: 0, .. } => None,
            SweepProgress::First { .. } => share.looks_end,
            SweepProgress::Final { .. } => share.ends,
        };
        if self.is_interrupted() || over.is_some_and(|over| Instant::now() >= over) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
