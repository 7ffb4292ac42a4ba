//! Sweeps: candidates are tried in order, each verified before its time counts. The fastest are timed thoroughly and
//! sorted, fastest first.

pub mod filter;
pub mod gemm;
mod sample;

use std::ops::ControlFlow;

use thiserror::Error;
use tripipe_kernels::PlanError;
use tripipe_kernels::gemm::{Difference, Unfit};
use tripipe_launch::{ExecuteError, TimeSource};

pub use sample::sample;

/// A candidate is dropped if its first run takes this many times as long as the best so far.
const DROPPED_AT: f64 = 8.0;
/// A first run may include a wait for the driver's compiler. A slow first run below this many seconds is repeated
/// before the candidate is dropped.
const AGAIN_BELOW: f64 = 1.0;

/// How candidates are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heats {
    /// Number of candidates that are timed thoroughly: the fastest of the first look.
    pub finalists: usize,
    /// Rounds in which each finalist runs once, so that a device that slows down affects all of them equally.
    pub rounds: usize,
}

impl Default for Heats {
    /// 16 finalists, 10 rounds.
    fn default() -> Self {
        Self { finalists: 16, rounds: 10 }
    }
}

/// Seconds of one candidate, from the first launch's start to the last one's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateSeconds {
    /// The shortest run.
    pub best: f64,
    /// The median.
    pub median: f64,
    /// Number of runs; 1 if only the first look was timed.
    pub runs: usize,
}

/// One candidate and its outcome.
#[derive(Debug)]
pub struct Tried<P> {
    /// The candidate.
    pub parameters: P,
    /// Its time, or the reason why it has none.
    pub outcome: Result<CandidateSeconds, TryError>,
}

/// Why a candidate has no time.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TryError {
    /// The device does not support the candidate for this product.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The device does not support the candidate for this filter.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device did not run it.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Its result is wrong.
    #[error("a wrong result: {0}")]
    Wrong(#[from] Difference),
    /// A byte of its result is wrong.
    #[error("a wrong result: byte {at} is {found}, expected {want}")]
    WrongByte {
        /// The index of the byte.
        at: usize,
        /// The value found.
        found: u8,
        /// The expected value.
        want: u8,
    },
    /// Its first run was so slow that the candidate was dropped; its result was not compared.
    #[error("dropped: its first run took {:.0} times as long as the fastest so far", seconds / best)]
    Dropped {
        /// Its first run.
        seconds: f64,
        /// The fastest candidate so far.
        best: f64,
    },
    /// The device reported a run time of 0, which cannot be compared.
    #[error("the device reports no time for it")]
    NoTime,
}

/// The current step of a sweep, reported before it starts.
#[derive(Clone, Copy, Debug)]
pub enum SweepProgress<'s, P> {
    /// The first look at a candidate.
    First {
        /// The candidate.
        parameters: &'s P,
        /// Number of candidates looked at before.
        done: usize,
        /// Total number of candidates.
        of: usize,
    },
    /// A timed run of a finalist.
    Final {
        /// The candidate.
        parameters: &'s P,
        /// The round, counted from 0.
        round: usize,
        /// Total number of rounds.
        of: usize,
    },
}

/// Called before each step; a break stops the current phase. A break during the first looks skips the remaining
/// candidates and continues with the finals; a break during the finals ends them.
pub type Watch<'w, P> = dyn FnMut(SweepProgress<'_, P>) -> ControlFlow<()> + 'w;

/// The outcome of a sweep.
#[derive(Debug)]
pub struct Heat<P> {
    /// The candidates that were tried: fastest first, those without a time last.
    pub tried: Vec<Tried<P>>,
    /// Number of candidates that were not tried because the sweep was stopped.
    pub left_out: usize,
    /// Whether all rounds of the finals were completed.
    pub finished: bool,
}

impl<P> Heat<P> {
    /// Whether the sweep was stopped before all candidates were tried and timed.
    pub fn is_partial(&self) -> bool {
        self.left_out > 0 || !self.finished
    }

    /// The fastest candidate and its time; `None` when no candidate has a time.
    pub fn fastest(&self) -> Option<(&P, CandidateSeconds)> {
        let first = self.tried.first()?;
        first.outcome.as_ref().ok().map(|seconds| (&first.parameters, *seconds))
    }
}

/// Runs candidates.
pub(crate) trait Contest<P> {
    /// Where the times come from.
    fn time_source(&self) -> TimeSource {
        TimeSource::Measured
    }

    /// Prepares a candidate.
    ///
    /// # Errors
    /// The candidate is not valid for this device, or the device refuses it.
    fn enter(&mut self, parameters: &P) -> Result<(), TryError>;

    /// Runs the prepared candidate. Returns its seconds.
    ///
    /// # Errors
    /// The device did not run it.
    fn run(&mut self) -> Result<f64, TryError>;

    /// Compares the output of the last run with the expected result.
    ///
    /// # Errors
    /// The result is wrong or cannot be read.
    fn verify(&mut self) -> Result<(), TryError>;

    /// Frees the memory made by [`Self::enter`].
    fn leave(&mut self);
}

/// Tries the candidates in order. A candidate's result is verified before its time counts; the result of the fastest
/// is verified once more at the end. A candidate that is much slower than the best so far is dropped after its first
/// run.
///
/// A predicted time is the same in every run: the first look is then enough, and there are no finals.
pub(crate) fn race<P: Copy>(
    contest: &mut dyn Contest<P>,
    candidates: &[P],
    heats: Heats,
    watch: &mut Watch<'_, P>,
) -> Heat<P> {
    let mut tried: Vec<Tried<P>> = Vec::new();
    let mut best = f64::INFINITY;
    for (done, parameters) in candidates.iter().enumerate() {
        if watch(SweepProgress::First { parameters, done, of: candidates.len() }).is_break() {
            break;
        }
        let outcome = first_look(contest, parameters, best);
        if let Ok(seconds) = outcome {
            best = best.min(seconds);
        }
        let outcome = outcome.map(|seconds| CandidateSeconds { best: seconds, median: seconds, runs: 1 });
        tried.push(Tried { parameters: *parameters, outcome });
    }
    let left_out = candidates.len() - tried.len();
    sort(&mut tried);
    if contest.time_source().is_predicted() {
        return Heat { tried, left_out, finished: true };
    }
    let finalists = tried.iter().take_while(|one| one.outcome.is_ok()).count().min(heats.finalists);
    let finished = finals(contest, &mut tried[..finalists], heats.rounds, watch);
    sort(&mut tried);
    if let Some(fastest) = tried.first_mut().filter(|one| one.outcome.is_ok())
        && let Err(error) = first_look(contest, &fastest.parameters, f64::INFINITY)
    {
        fastest.outcome = Err(error);
        sort(&mut tried);
    }
    Heat { tried, left_out, finished }
}

/// Builds a candidate, verifies it, and times the next run.
fn first_look<P>(contest: &mut dyn Contest<P>, parameters: &P, best: f64) -> Result<f64, TryError> {
    contest.enter(parameters)?;
    let looked = (|| {
        let limit = DROPPED_AT * best;
        let mut seconds = contest.run()?;
        let source = contest.time_source();
        if seconds > limit && seconds < AGAIN_BELOW && !source.is_predicted() {
            seconds = contest.run()?;
        }
        if seconds > limit {
            return Err(TryError::Dropped { seconds, best });
        }
        if source.executes() {
            contest.verify()?;
        }
        if !source.is_predicted() {
            seconds = contest.run()?;
        }
        if seconds > 0.0 { Ok(seconds) } else { Err(TryError::NoTime) }
    })();
    contest.leave();
    looked
}

/// Runs every entry of `tried` once per round, for `rounds` rounds. Returns whether all rounds were completed.
fn finals<P>(
    contest: &mut dyn Contest<P>,
    tried: &mut [Tried<P>],
    rounds: usize,
    watch: &mut Watch<'_, P>,
) -> bool {
    let mut times = vec![Vec::new(); tried.len()];
    let mut finished = true;
    'rounds: for round in 0..rounds {
        for (one, times) in tried.iter_mut().zip(&mut times) {
            if one.outcome.is_err() {
                continue;
            }
            if watch(SweepProgress::Final { parameters: &one.parameters, round, of: rounds }).is_break() {
                finished = false;
                break 'rounds;
            }
            let seconds = contest.enter(&one.parameters).and_then(|()| {
                // In the first run, the caches still hold the previous candidate's data.
                let seconds = contest.run().and_then(|_| contest.run());
                contest.leave();
                seconds.and_then(|seconds| if seconds > 0.0 { Ok(seconds) } else { Err(TryError::NoTime) })
            });
            match seconds {
                Ok(seconds) => times.push(seconds),
                Err(error) => one.outcome = Err(error),
            }
        }
    }
    for (one, mut times) in tried.iter_mut().zip(times) {
        times.sort_by(f64::total_cmp);
        if let (Ok(seconds), [best, ..]) = (&mut one.outcome, times.as_slice()) {
            *seconds = CandidateSeconds { best: *best, median: times[times.len() / 2], runs: times.len() };
        }
    }
    finished
}

/// Sorts by median: first the candidates timed in the finals, then those with a first look only; failures last.
fn sort<P>(tried: &mut [Tried<P>]) {
    tried.sort_by(|a, b| match (&a.outcome, &b.outcome) {
        (Ok(a), Ok(b)) => (b.runs > 1).cmp(&(a.runs > 1)).then(a.median.total_cmp(&b.median)),
        (a, b) => b.is_ok().cmp(&a.is_ok()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates are their run times in milliseconds. Candidates that end in 7 give a wrong result; 0 does not
    /// start.
    #[derive(Default)]
    struct Game {
        entered: Option<u32>,
        runs: Vec<u32>,
        verified: Vec<u32>,
        open: usize,
    }

    impl Contest<u32> for Game {
        fn enter(&mut self, parameters: &u32) -> Result<(), TryError> {
            if *parameters == 0 {
                return Err(TryError::NoTime);
            }
            self.entered = Some(*parameters);
            self.open += 1;
            Ok(())
        }

        fn run(&mut self) -> Result<f64, TryError> {
            self.runs.extend(self.entered);
            self.entered.map(|one| f64::from(one) * 1e-3).ok_or(TryError::NoTime)
        }

        fn verify(&mut self) -> Result<(), TryError> {
            self.verified.extend(self.entered);
            match self.entered {
                Some(one) if one % 10 == 7 => Err(TryError::WrongByte { at: 0, found: 1, want: 2 }),
                _ => Ok(()),
            }
        }

        fn leave(&mut self) {
            self.entered = None;
            self.open -= 1;
        }
    }

    fn to_the_end<P>(_: SweepProgress<'_, P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn the_fastest_comes_first_and_all_memory_is_freed() {
        let mut game = Game::default();
        let heats = Heats { finalists: 2, rounds: 3 };
        let heat = race(&mut game, &[30, 0, 10, 7, 20], heats, &mut to_the_end);
        let order: Vec<u32> = heat.tried.iter().map(|one| one.parameters).collect();
        assert_eq!(order, [10, 20, 30, 0, 7]);
        let runs: Vec<usize> =
            heat.tried.iter().filter_map(|one| one.outcome.as_ref().ok()).map(|one| one.runs).collect();
        assert_eq!(runs, [3, 3, 1]);
        assert!(!heat.is_partial());
        assert_eq!(game.open, 0);
        // The fastest is verified once more at the end.
        assert_eq!(game.verified, [30, 10, 7, 20, 10]);
    }

    #[test]
    fn much_slower_candidates_are_dropped_after_their_first_run() {
        let mut game = Game::default();
        // 900 ms could include compilation, so it runs again; 3 s could not.
        let heat = race(&mut game, &[10, 900, 3000, 70], Heats { finalists: 0, rounds: 0 }, &mut to_the_end);
        assert_eq!(game.runs, [10, 10, 900, 900, 3000, 70, 70, 10, 10]);
        assert!(!game.verified.contains(&900) && !game.verified.contains(&3000));
        let dropped =
            heat.tried.iter().filter(|one| matches!(one.outcome, Err(TryError::Dropped { .. }))).count();
        assert_eq!(dropped, 2);
    }

    #[test]
    fn a_stopped_sweep_returns_its_partial_results() {
        let mut game = Game::default();
        let heats = Heats { finalists: 2, rounds: 5 };
        let heat = race(&mut game, &[30, 10, 20, 40], heats, &mut |stage| match stage {
            SweepProgress::First { done, .. } if done >= 2 => ControlFlow::Break(()),
            SweepProgress::Final { round, .. } if round >= 1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(heat.is_partial() && !heat.finished);
        assert_eq!(heat.left_out, 2);
        assert_eq!(heat.fastest().map(|(one, seconds)| (*one, seconds.runs)), Some((10, 1)));
        assert_eq!(game.open, 0);
        let none = race(&mut Game::default(), &[1], heats, &mut |_| ControlFlow::Break(()));
        assert!(none.fastest().is_none() && none.left_out == 1);
    }
}
