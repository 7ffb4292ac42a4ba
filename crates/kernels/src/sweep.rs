//! Sweeps: candidates in a row, each verified before its time counts, the fastest timed in earnest; the fastest first.

use std::fmt;
use std::ops::ControlFlow;

use thiserror::Error;
use tripipe_launch::ExecuteError;

use crate::gemm::{Difference, Unfit};
use crate::plan::PlanError;

/// A candidate whose first run takes so many times as long as the best one so far is dropped.
const DROPPED_AT: f64 = 8.0;
/// A first run may have waited for the driver's compiler, so one of fewer seconds is done again before it is held against a
/// candidate.
const AGAIN_BELOW: f64 = 1.0;

/// How candidates are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heats {
    /// Candidates that are timed in earnest: those that were fastest at the first look.
    pub finalists: usize,
    /// Rounds in which each finalist runs once, so that a device that slows down slows all of them.
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
pub struct Seconds {
    /// The least.
    pub best: f64,
    /// The one in the middle.
    pub median: f64,
    /// How often it ran; 1 after a first look alone.
    pub runs: usize,
}

/// One candidate and what came of it.
#[derive(Debug)]
pub struct Tried<P> {
    /// The candidate.
    pub parameters: P,
    /// Its time, or why it has none.
    pub outcome: Result<Seconds, TryError>,
}

/// Why a candidate has no time.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TryError {
    /// The device does not take it for this product.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The device does not take it for this filter.
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
        /// Which.
        at: usize,
        /// What it is.
        found: u8,
        /// What it should be.
        want: u8,
    },
    /// Its first run took so long that it was not looked at any further; its result was not compared.
    #[error("dropped: its first run took {:.0} times as long as the fastest so far", seconds / best)]
    Dropped {
        /// Its first run.
        seconds: f64,
        /// The fastest candidate so far.
        best: f64,
    },
    /// It ran in no time, so that nothing can be said.
    #[error("the device reports no time for it")]
    NoTime,
}

/// Where a sweep is, told ahead of each step.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'s, P> {
    /// A candidate is looked at for the first time.
    First {
        /// The candidate.
        parameters: &'s P,
        /// Candidates looked at before.
        done: usize,
        /// All of them.
        of: usize,
    },
    /// A finalist is timed.
    Final {
        /// The candidate.
        parameters: &'s P,
        /// The round, from 0 on.
        round: usize,
        /// All of them.
        of: usize,
    },
}

/// Is told of each step ahead of it, and ends it: a break among the first looks leaves the other candidates out and goes on with
/// the finals, one in the finals ends these.
pub type Watch<'w, P> = dyn FnMut(Stage<'_, P>) -> ControlFlow<()> + 'w;

/// What came of candidates.
#[derive(Debug)]
pub struct Heat<P> {
    /// Those that were tried: the fastest first, those without a time last.
    pub tried: Vec<Tried<P>>,
    /// How many were not, as the sweep was ended before.
    pub left_out: usize,
    /// Whether all rounds of the finals were run.
    pub finished: bool,
}

impl<P> Heat<P> {
    /// Whether the sweep was ended before all was tried and timed.
    pub fn is_partial(&self) -> bool {
        self.left_out > 0 || !self.finished
    }

    /// The fastest candidate and its time.
    pub fn fastest(&self) -> Option<(&P, Seconds)> {
        let first = self.tried.first()?;
        first.outcome.as_ref().ok().map(|seconds| (&first.parameters, *seconds))
    }
}

/// How a candidate is run.
pub(crate) trait Contest<P> {
    /// Makes it ready.
    ///
    /// # Errors
    /// It is none on this device, or the device refuses it.
    fn enter(&mut self, parameters: &P) -> Result<(), TryError>;

    /// Runs what was made ready; seconds.
    ///
    /// # Errors
    /// The device did not run it.
    fn run(&mut self) -> Result<f64, TryError>;

    /// Compares what the last run left with what it should.
    ///
    /// # Errors
    /// It is wrong, or cannot be read.
    fn verify(&mut self) -> Result<(), TryError>;

    /// Frees what [`Self::enter`] made.
    fn leave(&mut self);
}

/// Tries the candidates in their order: its result is compared before its time counts, and that of the fastest once more at the
/// end. One that is far slower than the best so far is dropped after its first run.
pub(crate) fn race<P: Copy>(
    contest: &mut dyn Contest<P>,
    candidates: &[P],
    heats: Heats,
    watch: &mut Watch<'_, P>,
) -> Heat<P> {
    let mut tried: Vec<Tried<P>> = Vec::new();
    let mut best = f64::INFINITY;
    for (done, parameters) in candidates.iter().enumerate() {
        if watch(Stage::First { parameters, done, of: candidates.len() }).is_break() {
            break;
        }
        let outcome = first_look(contest, parameters, best);
        if let Ok(seconds) = outcome {
            best = best.min(seconds);
        }
        let outcome = outcome.map(|seconds| Seconds { best: seconds, median: seconds, runs: 1 });
        tried.push(Tried { parameters: *parameters, outcome });
    }
    let left_out = candidates.len() - tried.len();
    sort(&mut tried);
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

/// Builds it, verifies it, and times the run after.
fn first_look<P>(contest: &mut dyn Contest<P>, parameters: &P, best: f64) -> Result<f64, TryError> {
    contest.enter(parameters)?;
    let looked = (|| {
        let limit = DROPPED_AT * best;
        let mut seconds = contest.run()?;
        if seconds > limit && seconds < AGAIN_BELOW {
            seconds = contest.run()?;
        }
        if seconds > limit {
            return Err(TryError::Dropped { seconds, best });
        }
        contest.verify()?;
        let seconds = contest.run()?;
        if seconds > 0.0 { Ok(seconds) } else { Err(TryError::NoTime) }
    })();
    contest.leave();
    looked
}

/// Runs all of `tried` in turn, `rounds` times; whether that was to the end.
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
            if watch(Stage::Final { parameters: &one.parameters, round, of: rounds }).is_break() {
                finished = false;
                break 'rounds;
            }
            let seconds = contest.enter(&one.parameters).and_then(|()| {
                // The first run finds caches full of the one before.
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
            *seconds = Seconds { best: *best, median: times[times.len() / 2], runs: times.len() };
        }
    }
    finished
}

/// By median: first those that were timed in the finals, then those that had a first look alone; failures last.
fn sort<P>(tried: &mut [Tried<P>]) {
    tried.sort_by(|a, b| match (&a.outcome, &b.outcome) {
        (Ok(a), Ok(b)) => (b.runs > 1).cmp(&(a.runs > 1)).then(a.median.total_cmp(&b.median)),
        (a, b) => b.is_ok().cmp(&a.is_ok()),
    });
}

/// The guesses ahead of the candidates, the candidates by how little they differ from the nearest of them (in the words of their
/// text), none twice.
pub(crate) fn nearest_first<P: Copy + PartialEq + fmt::Display>(guesses: &[P], candidates: &[P]) -> Vec<P> {
    let words = |parameters: &P| -> Vec<String> {
        parameters.to_string().split_whitespace().map(str::to_owned).collect()
    };
    let guessed: Vec<Vec<String>> = guesses.iter().map(words).collect();
    let distance = |parameters: &P| {
        let own = words(parameters);
        let apart = |a: &[String], b: &[String]| a.iter().filter(|word| !b.contains(word)).count();
        guessed.iter().map(|guess| apart(guess, &own) + apart(&own, guess)).min().unwrap_or(0)
    };
    let mut all: Vec<P> = Vec::new();
    let mut rest: Vec<(usize, P)> = candidates.iter().map(|one| (distance(one), *one)).collect();
    rest.sort_by_key(|(distance, _)| *distance);
    for parameters in guesses.iter().copied().chain(rest.into_iter().map(|(_, one)| one)) {
        if !all.contains(&parameters) {
            all.push(parameters);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates are the milliseconds they take; those that end in 7 are wrong, 0 does not start.
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

    fn to_the_end<P>(_: Stage<'_, P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn the_fastest_comes_first_and_everything_is_freed() {
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
        // The fastest is compared once more at the end.
        assert_eq!(game.verified, [30, 10, 7, 20, 10]);
    }

    #[test]
    fn what_is_far_slower_is_dropped_after_its_first_run() {
        let mut game = Game::default();
        // 900 ms could be a compiler's, so it runs again; 3 s could not.
        let heat = race(&mut game, &[10, 900, 3000, 70], Heats { finalists: 0, rounds: 0 }, &mut to_the_end);
        assert_eq!(game.runs, [10, 10, 900, 900, 3000, 70, 70, 10, 10]);
        assert!(!game.verified.contains(&900) && !game.verified.contains(&3000));
        let dropped =
            heat.tried.iter().filter(|one| matches!(one.outcome, Err(TryError::Dropped { .. }))).count();
        assert_eq!(dropped, 2);
    }

    #[test]
    fn an_ended_sweep_keeps_what_it_has() {
        let mut game = Game::default();
        let heats = Heats { finalists: 2, rounds: 5 };
        let heat = race(&mut game, &[30, 10, 20, 40], heats, &mut |stage| match stage {
            Stage::First { done, .. } if done >= 2 => ControlFlow::Break(()),
            Stage::Final { round, .. } if round >= 1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(heat.is_partial() && !heat.finished);
        assert_eq!(heat.left_out, 2);
        assert_eq!(heat.fastest().map(|(one, seconds)| (*one, seconds.runs)), Some((10, 1)));
        assert_eq!(game.open, 0);
        let none = race(&mut Game::default(), &[1], heats, &mut |_| ControlFlow::Break(()));
        assert!(none.fastest().is_none() && none.left_out == 1);
    }

    #[test]
    fn guesses_come_first_and_then_what_is_like_them() {
        let candidates = ["a b d", "x y z", "a b c", "a y z"];
        assert_eq!(nearest_first(&["a b c"], &candidates), ["a b c", "a b d", "a y z", "x y z"]);
        assert_eq!(nearest_first(&[], &candidates), candidates);
    }
}
