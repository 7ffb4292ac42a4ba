//! Measurements in this process.

use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::plan::Bound;
use tripipe_launch::{Executor, Launch, Timing};

use super::interleave::{Clocked, Limits, Series, interleave};
use super::median::{Interval, median};
use super::subject::{Subject, failure};
use super::{Bench, BenchError, Effort, Phase};
use crate::{Outcome, Problem, Times, Trial};

/// A candidate is dropped if its first run takes this many times as long as the fastest so far.
const DROPPED_AT: f64 = 8.0;
/// A first run may include a wait for the driver's compiler. A slow first run below this many seconds is repeated
/// before the candidate is dropped.
const AGAIN_BELOW: f64 = 1.0;
/// Slow runs that together take less than this many seconds are repeated, up to [`AGAIN_MOST`] times: single runs of
/// microseconds are often ten times as long as most.
const SHORT: f64 = 0.01;
/// The most repetitions of a slow first run.
const AGAIN_MOST: usize = 30;

/// Measures on an executor of this process.
///
/// Times are the device's own where it reports any, else those of the host's clock. The reference kernel is the
/// problem itself with the parameters that the library chooses; where that fails, there is none.
///
/// A kernel that crashes or hangs takes the process with it; [`crate::worker`] measures in other processes.
pub struct InProcess<'e> {
    executor: &'e mut dyn Executor,
    on_phase: Box<dyn FnMut(Phase) + 'e>,
    ready: Option<Ready>,
}

/// A problem that is set up.
struct Ready {
    subject: Subject,
    with_reference: bool,
    /// `None` if it failed, too.
    reference: Option<Bound>,
    /// Whether the host's clock times launches, because the device reports no times.
    by_host: bool,
}

impl<'e> InProcess<'e> {
    /// Measures on `executor`.
    pub fn new(executor: &'e mut dyn Executor) -> Self {
        Self { executor, on_phase: Box::new(|_| {}), ready: None }
    }

    /// Calls `on_phase` before each phase of a measurement.
    #[must_use]
    pub fn on_phase(mut self, on_phase: impl FnMut(Phase) + 'e) -> Self {
        self.on_phase = Box::new(on_phase);
        self
    }

    /// Frees the memory of the problem.
    fn clear(&mut self) {
        if let Some(Ready { subject, reference, .. }) = self.ready.take() {
            if let Some(bound) = reference {
                bound.release(self.executor);
            }
            subject.release(self.executor);
        }
    }

    fn set_up(&mut self, problem: &Problem, with_reference: bool) -> Result<(), BenchError> {
        let is_same =
            |ready: &Ready| ready.subject.problem() == problem && ready.with_reference == with_reference;
        if self.ready.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        self.clear();
        (self.on_phase)(Phase::SetUp);
        let subject = Subject::new(self.executor, problem)?;
        let mut ready = Ready { subject, with_reference, reference: None, by_host: false };
        if with_reference {
            (self.on_phase)(Phase::Reference);
            let parameters = ready.subject.default_parameters(self.executor);
            let bound = ready.subject.bind(self.executor, &parameters);
            let bound = bound.and_then(|bound| match run(self.executor, &bound.launches, false) {
                Ok(seconds) => {
                    ready.by_host = seconds == 0.0 && !bound.launches.is_empty();
                    Ok(bound)
                }
                Err(outcome) => {
                    bound.release(self.executor);
                    Err(outcome)
                }
            });
            match bound {
                Ok(bound) => ready.reference = Some(bound),
                Err(Outcome::DeviceLost { reason }) => {
                    ready.subject.release(self.executor);
                    return Err(BenchError::Device(reason));
                }
                // The candidates are then timed without it.
                Err(_) => {}
            }
        }
        self.ready = Some(ready);
        Ok(())
    }

    /// The trials of the parameters, timed in turns.
    fn trials(
        &mut self,
        problem: &Problem,
        parameters: &[&str],
        effort: &Effort,
    ) -> Result<Vec<Trial>, BenchError> {
        self.set_up(problem, effort.reference)?;
        let Self { executor, on_phase, ready: Some(ready), .. } = self else { return Ok(Vec::new()) };
        let mut turns = Turns { executor: &mut **executor, ready, bound: Vec::new() };
        let outcomes = turns.outcomes(parameters, effort, on_phase);
        for bound in turns.bound {
            bound.release(*executor);
        }
        let trial =
            |(parameters, outcome): (&&str, Outcome)| Trial { parameters: (*parameters).to_owned(), outcome };
        Ok(parameters.iter().zip(outcomes).map(trial).collect())
    }
}

impl Drop for InProcess<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Bench for InProcess<'_> {
    fn probe(&self) -> &Probe {
        self.executor.probe()
    }

    fn measure(&mut self, problem: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError> {
        let trials = self.trials(problem, &[parameters], effort)?;
        trials.into_iter().next().ok_or_else(|| BenchError::Device("it gave no result".to_owned()))
    }

    fn compare(
        &mut self,
        problem: &Problem,
        parameters: &[String],
        effort: &Effort,
    ) -> Result<Vec<Trial>, BenchError> {
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        self.trials(problem, &parameters, effort)
    }
}

/// Runs launches. Returns their seconds: the device's, or the host's.
fn run(executor: &mut dyn Executor, launches: &[Launch], by_host: bool) -> Result<f64, Outcome> {
    let start = Instant::now();
    let timings = executor.run(launches).map_err(|error| failure(&error))?;
    Ok(if by_host { start.elapsed().as_secs_f64() } else { Timing::span_seconds(&timings) })
}

/// Candidates that are timed in turns.
struct Turns<'t> {
    executor: &'t mut dyn Executor,
    ready: &'t Ready,
    bound: Vec<Bound>,
}

impl Clocked for Turns<'_> {
    type Failure = Outcome;

    fn reference(&mut self) -> Result<Option<f64>, Outcome> {
        match &self.ready.reference {
            Some(bound) => run(self.executor, &bound.launches, self.ready.by_host).map(Some),
            None => Ok(None),
        }
    }

    fn candidate(&mut self, index: usize) -> Result<f64, Outcome> {
        let seconds = run(self.executor, &self.bound[index].launches, self.ready.by_host)?;
        if seconds > 0.0 { Ok(seconds) } else { Err(Outcome::NoTime) }
    }
}

impl Turns<'_> {
    fn outcomes(
        &mut self,
        parameters: &[&str],
        effort: &Effort,
        on_phase: &mut dyn FnMut(Phase),
    ) -> Vec<Outcome> {
        // The index into `bound` and the expected seconds of each candidate, or its outcome.
        let mut entries = Vec::new();
        for one in parameters {
            on_phase(Phase::Build);
            let entry = self.ready.subject.bind(self.executor, one).and_then(|bound| {
                self.bound.push(bound);
                on_phase(Phase::Verify);
                let index = self.bound.len() - 1;
                self.first_look(index, effort).map(|seconds| (index, seconds))
            });
            entries.push(entry);
        }
        let source = self.executor.time_source();
        on_phase(Phase::Time);
        if source.is_predicted() {
            let reference = self.reference().ok().flatten().filter(|seconds| *seconds > 0.0);
            let predicted = |seconds: f64| {
                let relative = reference.map(|reference| seconds / reference);
                Outcome::Measured(Times {
                    reference,
                    relative,
                    relative_interval: relative.map(|relative| [relative; 2]),
                    ..Times::predicted(seconds)
                })
            };
            let outcome = |entry: Result<(usize, f64), Outcome>| {
                entry.map_or_else(|outcome| outcome, |(_, seconds)| predicted(seconds))
            };
            return entries.into_iter().map(outcome).collect();
        }
        // Candidates that failed are not timed: their launches are skipped by number.
        let valid: Vec<(usize, f64)> =
            entries.iter().filter_map(|entry| entry.as_ref().ok().copied()).collect();
        let limits = Limits {
            runs: effort.runs.max(1),
            seconds: effort.seconds * valid.len() as f64,
            precision: effort.precision,
            rival: effort.rival.map(|[low, high]| Interval { low, high }),
        };
        let expected: Vec<f64> = valid.iter().map(|(_, seconds)| *seconds).collect();
        let numbers: Vec<usize> = valid.iter().map(|(index, _)| *index).collect();
        let mut series = interleave(&mut Chosen { turns: self, numbers: &numbers }, &expected, &limits);
        on_phase(Phase::Verify);
        let mut numbers = numbers.iter();
        let mut series = series.drain(..);
        entries
            .into_iter()
            .map(|entry| match (entry, series.len()) {
                (Err(outcome), _) => outcome,
                (Ok(_), 0) => Outcome::NoTime,
                (Ok(_), _) => match (series.next(), numbers.next()) {
                    (Some(Ok(series)), Some(index)) => match self.verify(*index) {
                        Ok(_) => Outcome::Measured(times(series, self.ready.reference.is_some())),
                        Err(outcome) => outcome,
                    },
                    (Some(Err(outcome)), _) => outcome,
                    _ => Outcome::NoTime,
                },
            })
            .collect()
    }

    /// Runs a candidate on an overwritten result, and checks that. Returns the seconds to expect of a run.
    fn first_look(&mut self, index: usize, effort: &Effort) -> Result<f64, Outcome> {
        let source = self.executor.time_source();
        let limit = effort.fastest.map_or(f64::INFINITY, |fastest| DROPPED_AT * fastest);
        if source.executes() {
            self.ready.subject.overwrite(self.executor)?;
        }
        let mut seconds = self.candidate(index)?;
        if source.is_predicted() {
            if source.executes() {
                self.ready.subject.check(self.executor)?;
            }
            return Ok(seconds);
        }
        let mut spent = seconds;
        for again in 0..AGAIN_MOST {
            if seconds <= limit || (again == 0 && seconds >= AGAIN_BELOW) || (again > 0 && spent >= SHORT) {
                break;
            }
            let next = self.candidate(index)?;
            spent += next;
            seconds = seconds.min(next);
        }
        if seconds > limit {
            return Err(Outcome::Dropped { seconds });
        }
        self.ready.subject.check(self.executor)?;
        // The first run may include work of the driver that the next ones do not.
        if seconds < AGAIN_BELOW {
            seconds = self.candidate(index)?;
        }
        Ok(seconds)
    }

    fn verify(&mut self, index: usize) -> Result<f64, Outcome> {
        self.ready.subject.overwrite(self.executor)?;
        let seconds = self.candidate(index)?;
        self.ready.subject.check(self.executor)?;
        Ok(seconds)
    }
}

/// Those of the candidates that are correct, by their numbers.
struct Chosen<'c, 't> {
    turns: &'c mut Turns<'t>,
    numbers: &'c [usize],
}

impl Clocked for Chosen<'_, '_> {
    type Failure = Outcome;

    fn reference(&mut self) -> Result<Option<f64>, Outcome> {
        self.turns.reference()
    }

    fn candidate(&mut self, index: usize) -> Result<f64, Outcome> {
        self.turns.candidate(self.numbers[index])
    }
}

fn times(series: Series, with_reference: bool) -> Times {
    let Series { seconds, rounds, reference } = series;
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let worst = seconds.iter().copied().fold(0.0, f64::max);
    let interval = Interval::of_median(&seconds).map_or([best, worst], |it| [it.low, it.high]);
    let relative_interval =
        Interval::of_median(&rounds).filter(|_| with_reference).map(|it| [it.low, it.high]);
    Times {
        median: median(&seconds),
        interval,
        best,
        reference: with_reference.then(|| median(&reference)),
        relative: with_reference.then(|| median(&rounds)),
        relative_interval,
        predicted: false,
        seconds,
    }
}
