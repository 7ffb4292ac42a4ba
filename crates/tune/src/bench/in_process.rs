//! Measurements in this process.

use tripipe_device::Probe;
use tripipe_kernels::bench::{Bench as Device, CandidateTimes, Interval, Limits, Turn, interleave, median};
use tripipe_launch::{CpuTime, Executor};

use super::kernel::KernelSubject;
use super::subject::{BoundCandidate, LibrarySubject, Subject};
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
    device: Device<'e>,
    on_phase: Box<dyn FnMut(Phase) + 'e>,
    ready: Option<Ready>,
}

/// A problem that is set up.
struct Ready {
    problem: Problem,
    subject: Box<dyn Subject>,
    with_reference: bool,
    /// `None` if it failed, too.
    reference: Option<BoundCandidate>,
}

impl<'e> InProcess<'e> {
    /// Measures on `executor`.
    pub fn new(executor: &'e mut dyn Executor) -> Self {
        Self { device: Device::new(executor), on_phase: Box::new(|_| {}), ready: None }
    }

    /// Calls `on_phase` before each phase of a measurement.
    #[must_use]
    pub fn on_phase(mut self, on_phase: impl FnMut(Phase) + 'e) -> Self {
        self.on_phase = Box::new(on_phase);
        self
    }

    /// Frees the memory of the problem.
    fn clear(&mut self) {
        if let Some(mut ready) = self.ready.take() {
            if let Some(reference) = ready.reference {
                ready.subject.release(&mut self.device, reference);
            }
            ready.subject.clear(&mut self.device);
        }
        self.device.clear();
    }

    fn set_up(&mut self, problem: &Problem, with_reference: bool) -> Result<(), BenchError> {
        let is_same = |ready: &Ready| ready.problem == *problem && ready.with_reference == with_reference;
        if self.ready.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        self.clear();
        (self.on_phase)(Phase::SetUp);
        let subject: Box<dyn Subject> = match problem {
            Problem::Kernel(kernel) => Box::new(KernelSubject::new(&mut self.device, kernel)?),
            _ => Box::new(LibrarySubject::new(&mut self.device, problem)?),
        };
        let mut ready = Ready { problem: problem.clone(), subject, with_reference, reference: None };
        if with_reference {
            (self.on_phase)(Phase::Reference);
            let parameters = ready.subject.default_parameters(self.device.probe());
            let bound = ready.subject.bind(&mut self.device, &parameters);
            let bound = bound.and_then(|bound| match self.device.span_seconds(&bound.launches) {
                Ok(_) => Ok(bound),
                Err(error) => {
                    ready.subject.release(&mut self.device, bound);
                    Err(error.into())
                }
            });
            match bound {
                Ok(bound) => ready.reference = Some(bound),
                Err(Outcome::DeviceLost { reason }) => {
                    ready.subject.clear(&mut self.device);
                    self.device.clear();
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
        let Self { device, on_phase, ready: Some(ready) } = self else { return Ok(Vec::new()) };
        let mut turns = Turns { device, ready: &mut *ready, bound: Vec::new() };
        let outcomes = turns.outcomes(parameters, effort, on_phase);
        let bound = turns.bound;
        for bound in bound {
            ready.subject.release(device, bound);
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
        self.device.probe()
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

/// Candidates that are timed in turns.
struct Turns<'t, 'e> {
    device: &'t mut Device<'e>,
    ready: &'t mut Ready,
    bound: Vec<BoundCandidate>,
}

impl Turns<'_, '_> {
    /// The seconds of the reference kernel, if there is one, or of a candidate.
    fn run(&mut self, turn: Turn) -> Result<f64, Outcome> {
        let bound = match turn {
            Turn::Reference => self.ready.reference.as_ref().ok_or(Outcome::NoTime)?,
            Turn::Candidate(index) => &self.bound[index],
        };
        let seconds = self.device.span_seconds(&bound.launches)?;
        if seconds > 0.0 || turn == Turn::Reference { Ok(seconds) } else { Err(Outcome::NoTime) }
    }

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
            let entry = self.ready.subject.bind(self.device, one).and_then(|bound| {
                self.bound.push(bound);
                on_phase(Phase::Verify);
                let index = self.bound.len() - 1;
                self.first_look(index, effort).map(|seconds| (index, seconds))
            });
            entries.push(entry);
        }
        let source = self.device.time_source();
        on_phase(Phase::Time);
        if source.is_predicted() {
            let reference = self.run(Turn::Reference).ok().filter(|seconds| *seconds > 0.0);
            let predicted = |seconds: f64| {
                let relative = reference.map(|reference| seconds / reference);
                Outcome::Measured(Times {
                    reference,
                    relative,
                    relative_interval: relative.map(|relative| [relative; 2]),
                    ..Times::predicted(seconds)
                })
            };
            let outcome = |entry: Result<_, Outcome>| {
                entry.map_or_else(|outcome| outcome, |(_, seconds)| predicted(seconds))
            };
            return entries.into_iter().map(outcome).collect();
        }
        // Candidates that failed are not timed.
        let valid: Vec<(usize, f64)> =
            entries.iter().filter_map(|entry| entry.as_ref().ok().copied()).collect();
        let has_reference = self.ready.reference.is_some();
        let limits = Limits {
            has_reference,
            runs: effort.runs.max(1),
            seconds: effort.seconds * valid.len() as f64,
            precision: effort.precision,
            rival: effort.rival.map(|[low, high]| Interval { low, high }),
        };
        let expected: Vec<f64> = valid.iter().map(|(_, seconds)| *seconds).collect();
        let mut cpu = vec![CpuTime::default(); valid.len()];
        let mut run = |turn| match turn {
            Turn::Candidate(number) => cpu[number].measure(|| self.run(Turn::Candidate(valid[number].0))),
            Turn::Reference => self.run(turn),
        };
        let all = interleave(&mut run, &expected, &limits);
        let mut all = all.into_iter().zip(cpu);
        on_phase(Phase::Verify);
        let mut outcome = |entry: Result<(usize, f64), Outcome>| {
            let (index, _) = entry?;
            let (measured, cpu) = all.next().ok_or(Outcome::NoTime)?;
            let measured = measured?;
            self.verify(index)?;
            let cpu_cores = cpu.load().map(|load| [load.cores, load.calling_thread]);
            Ok(Outcome::Measured(Times { cpu_cores, ..times(measured, has_reference) }))
        };
        entries.into_iter().map(|entry| outcome(entry).unwrap_or_else(|outcome| outcome)).collect()
    }

    /// Runs a candidate on an overwritten result, and checks that. Returns the seconds to expect of a run.
    fn first_look(&mut self, index: usize, effort: &Effort) -> Result<f64, Outcome> {
        let source = self.device.time_source();
        let limit = effort.fastest.map_or(f64::INFINITY, |fastest| DROPPED_AT * fastest);
        if source.executes() {
            self.ready.subject.overwrite(self.device, &self.bound[index])?;
        }
        let mut seconds = self.run(Turn::Candidate(index))?;
        if source.is_predicted() {
            if source.executes() {
                self.ready.subject.check(self.device, &self.bound[index])?;
            }
            return Ok(seconds);
        }
        let mut spent = seconds;
        for again in 0..AGAIN_MOST {
            if seconds <= limit || (again == 0 && seconds >= AGAIN_BELOW) || (again > 0 && spent >= SHORT) {
                break;
            }
            // A kernel may change what it reads.
            self.ready.subject.overwrite(self.device, &self.bound[index])?;
            let next = self.run(Turn::Candidate(index))?;
            spent += next;
            seconds = seconds.min(next);
        }
        if seconds > limit {
            return Err(Outcome::Dropped { seconds });
        }
        self.ready.subject.check(self.device, &self.bound[index])?;
        // The first run may include work of the driver that the next ones do not.
        if seconds < AGAIN_BELOW {
            seconds = self.run(Turn::Candidate(index))?;
        }
        Ok(seconds)
    }

    fn verify(&mut self, index: usize) -> Result<(), Outcome> {
        self.ready.subject.overwrite(self.device, &self.bound[index])?;
        self.run(Turn::Candidate(index))?;
        self.ready.subject.check(self.device, &self.bound[index])
    }
}

fn times(measured: CandidateTimes, with_reference: bool) -> Times {
    let CandidateTimes { seconds, rounds, reference } = measured;
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
        cpu_cores: None,
        seconds,
    }
}
