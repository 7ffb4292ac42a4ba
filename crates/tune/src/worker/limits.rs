//! How long a worker may take, and how much memory.

use std::time::Duration;

use crate::Effort;
use crate::bench::Phase;

/// When a worker is stopped or replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerLimits {
    /// For starting, until the first line.
    pub start: Duration,
    /// For preparing a problem: operands, and the expected result on the CPU.
    pub set_up: Duration,
    /// For building the kernels of one candidate.
    pub build: Duration,
    /// For a verified run, with comparison; and for timing, in addition to four times the seconds of the effort.
    pub run: Duration,
    /// Resident memory in bytes; `None` for no limit. Only on systems with `/proc`.
    pub memory_bytes: Option<u64>,
    /// Number of candidates after which a worker is replaced: drivers keep the programs that they have built.
    pub candidates: usize,
    /// How long to wait before each attempt to restore a connection to another machine.
    pub reconnect: Vec<Duration>,
}

impl Default for WorkerLimits {
    /// 1 minute to start, 10 to prepare a problem, 2 to build, 30 s to run; no limit of memory; 200 candidates;
    /// attempts to reconnect after 1, 5, 15 and 30 s, and 1 minute.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            start: seconds(60),
            set_up: seconds(600),
            build: seconds(120),
            run: seconds(30),
            memory_bytes: None,
            candidates: 200,
            reconnect: [1, 5, 15, 30, 60].map(seconds).into(),
        }
    }
}

impl WorkerLimits {
    /// For the side of a connection that does not run kernels: the guard on the other side stops a kernel that hangs
    /// at its own limits, so these are reached only if the connection, or the machine, hangs.
    #[must_use]
    pub fn behind_a_guard(self) -> Self {
        let later = |limit: Duration| limit * 2 + Duration::from_secs(30);
        Self {
            start: later(self.start),
            set_up: later(self.set_up),
            build: later(self.build),
            run: later(self.run),
            memory_bytes: None,
            candidates: usize::MAX,
            ..self
        }
    }

    pub(super) fn of(&self, phase: Phase, effort: &Effort, candidates: usize) -> Duration {
        match phase {
            Phase::SetUp => self.set_up,
            Phase::Reference | Phase::Build => self.build,
            Phase::Verify => self.run,
            Phase::Time => {
                let seconds = 4.0 * effort.seconds * candidates.max(1) as f64;
                self.run.saturating_add(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
            }
        }
    }
}
