//! Climbs a ladder: verifies each step, then times it.

use std::hint::black_box;
use std::time::Duration;

use thiserror::Error;
use tripipe_launch::{CpuLoad, CpuTime, ExecuteError, Executor, TimeSource};

use super::{Climb, ClimbedStep, Ladder, Measured, Outcome, Seconds};
use crate::problem::{Inputs, Mismatch, Problem, ProblemError, Size, Work};
use tripipe_kernels::bench::{Repeat, clocked};
use tripipe_kernels::plan::{PlanError, Staged};

/// The number of runs.
///
/// Slow steps run less often: warm-up and timed runs each end after [`STEP_SECONDS`], but at least [`LEAST_RUNS`]
/// timed runs are made. [`Measured::seconds`] has one sample per timed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Timed runs of each step, at least 1.
    pub runs: usize,
    /// Warm-up runs before the timed runs.
    pub warmup: usize,
}

/// Seconds after which no further run of a step is started.
pub const STEP_SECONDS: f64 = 5.0;
/// Minimum number of timed runs of a slow step, unless fewer are requested.
pub const LEAST_RUNS: usize = 3;

/// Runs of each variant in a sweep; the winner is then timed like any other step.
const SWEEP_RUNS: usize = 5;
/// Variants of a sweep that are predicted at the full size.
const FULL_SIZE: usize = 3;
/// Variants up to which all are predicted at the full size.
const FEW: usize = 8;
/// Runs of the serial version.
const SERIAL: Repeat = Repeat { most: 5, least: 1, limit: Duration::from_secs(1) };

/// A step's name and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepName {
    /// Its name.
    pub name: String,
    /// What it changes, in one sentence.
    pub about: String,
}

/// Why an attempt at a step failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// The step has no plan for this device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The step did not run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The result is wrong.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The CPU path refused the step.
    #[error("{0}")]
    Cpu(String),
}

/// One variant of a step, ready to run.
pub trait Attempt {
    /// Runs the preparation of the step. Returns its seconds, or `None` when there is no preparation.
    ///
    /// # Errors
    /// The preparation did not run.
    fn prepare(&mut self) -> Result<Option<f64>, AttemptError>;
    /// Runs the step. Returns its seconds.
    ///
    /// # Errors
    /// The step did not run.
    fn run(&mut self) -> Result<f64, AttemptError>;
    /// The result of the last run, as bytes.
    ///
    /// # Errors
    /// The result could not be read.
    fn output(&mut self) -> Result<Vec<u8>, AttemptError>;
    /// The load of the CPU beside the last run, if times are predicted; that of other runs is measured.
    fn predicted_load(&self) -> Option<CpuLoad> {
        None
    }
    /// The energy of a run in joules, if it is known; further runs may be made for it.
    ///
    /// # Errors
    /// The step did not run.
    fn joules(&mut self) -> Result<Option<f64>, AttemptError> {
        Ok(None)
    }
}

/// The callback for each variant of a step: its label (empty when there is only one) and the attempt.
pub type Visit<'v> = dyn FnMut(&str, Result<&mut dyn Attempt, AttemptError>) + 'v;

/// A device that can climb ladders: an executor, or the CPU path.
pub trait Climber {
    /// The device's name.
    fn device(&self) -> String;
    /// Where its times come from.
    fn time_source(&self) -> TimeSource {
        TimeSource::Measured
    }
    /// Its steps of a ladder.
    fn steps(&self, ladder: &Ladder) -> Vec<StepName>;
    /// Calls `visit` with each variant of a step, one after the other.
    ///
    /// # Errors
    /// The step cannot be tried at all.
    fn attempt(
        &mut self,
        ladder: &Ladder,
        step: usize,
        problem: &Problem,
        visit: &mut Visit<'_>,
    ) -> Result<(), AttemptError>;
}

impl Climber for dyn Executor + '_ {
    fn device(&self) -> String {
        self.probe().name.clone()
    }

    fn time_source(&self) -> TimeSource {
        Executor::time_source(self)
    }

    fn steps(&self, ladder: &Ladder) -> Vec<StepName> {
        let named = |name: &str, about: &str| StepName { name: name.to_owned(), about: about.to_owned() };
        ladder.steps.iter().map(|step| named(step.name, step.about)).collect()
    }

    fn attempt(
        &mut self,
        ladder: &Ladder,
        step: usize,
        problem: &Problem,
        visit: &mut Visit<'_>,
    ) -> Result<(), AttemptError> {
        for variant in (ladder.steps[step].plan)(problem, self.probe())? {
            match variant.plan.stage(self) {
                Ok(mut staged) => visit(&variant.label, Ok(&mut staged)),
                Err(error) => visit(&variant.label, Err(error.into())),
            }
        }
        Ok(())
    }
}

impl Attempt for Staged<'_> {
    fn prepare(&mut self) -> Result<Option<f64>, AttemptError> {
        Ok(Staged::prepare(self)?)
    }

    fn run(&mut self) -> Result<f64, AttemptError> {
        Ok(Staged::run(self)?)
    }

    fn output(&mut self) -> Result<Vec<u8>, AttemptError> {
        Ok(Staged::output(self)?)
    }

    fn predicted_load(&self) -> Option<CpuLoad> {
        Staged::predicted_load(self)
    }

    fn joules(&mut self) -> Result<Option<f64>, AttemptError> {
        Ok(Staged::joules(self)?)
    }
}

/// The progress of a climb.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The current size.
    pub size: Size,
    /// The current activity: `reference`, `serial CPU`, or the step's name.
    pub doing: &'a str,
    /// Number of tasks done.
    pub done: usize,
    /// Total number of tasks.
    pub all: usize,
    /// The result of the current task; `None` before it starts.
    pub found: Option<StepResult>,
}

/// The result of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepResult {
    /// The result is correct.
    Took {
        /// Median of the run times.
        median_seconds: f64,
        /// The work done in that time.
        work: Work,
    },
    /// The device lacks something.
    NotOffered,
    /// The result is wrong, or the step did not run.
    Failed,
}

impl StepResult {
    fn of(outcome: &Outcome, work: Work) -> Self {
        match outcome {
            Outcome::Verified(measured) | Outcome::TimeOnly(measured) => {
                Self::Took { median_seconds: measured.seconds.median(), work }
            }
            Outcome::NotOffered { .. } => Self::NotOffered,
            Outcome::Failed { .. } => Self::Failed,
        }
    }
}

/// Climbs `ladder`: at every size each step is verified against the reference, timed, and verified again.
///
/// A predicted time is the same in every run, so one run is enough; the serial CPU version is not timed, because it runs
/// on another machine than the one that is predicted.
///
/// A step that is wrong or does not run is an [`Outcome::Failed`], not an error. `progress` is called before each
/// task, and after each timed task.
///
/// # Errors
/// The kind of a size differs from the ladder's.
pub fn climb<C: Climber + ?Sized>(
    climber: &mut C,
    ladder: &Ladder,
    sizes: &[Size],
    inputs: &Inputs<'_>,
    options: Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Climb, ProblemError> {
    let mut steps: Vec<ClimbedStep> = climber
        .steps(ladder)
        .into_iter()
        .map(|StepName { name, about }| ClimbedStep { name, about, outcomes: Vec::new() })
        .collect();
    let pieces = sizes.len() * (steps.len() + 2);
    let mut done = 0;
    let mut report = |size: Size, doing: &str, found: Option<StepResult>| {
        progress(Progress { size, doing, done, all: pieces, found });
        done += usize::from(found.is_none());
    };
    let (mut work, mut serial) = (Vec::new(), Vec::new());
    let source = climber.time_source();
    for &size in sizes {
        report(size, "reference", None);
        let problem = {
            let _span = tripipe_trace::span("reference", || format!("{}, reference, {size}", ladder.name));
            ladder.make_problem(size, inputs)?
        };
        work.push(problem.work);
        report(size, "serial CPU", None);
        if !source.is_predicted() {
            let seconds = time_serial(ladder, &problem);
            let found = StepResult::Took { median_seconds: seconds.median(), work: problem.work };
            report(size, "serial CPU", Some(found));
            serial.push(seconds);
        }
        for (index, step) in steps.iter_mut().enumerate() {
            report(size, &step.name, None);
            let _span =
                tripipe_trace::span("step", || format!("{}, step {}, {size}", ladder.name, step.name));
            let outcome = match shortlist(climber, ladder, index, &problem, inputs)? {
                None => measure_step(climber, ladder, index, &problem, options, &|_| true),
                Some(best) => measure_step(climber, ladder, index, &problem, options, &|label| {
                    best.iter().any(|one| one == label)
                }),
            };
            report(size, &step.name, Some(StepResult::of(&outcome, problem.work)));
            step.outcomes.push(outcome);
        }
    }
    Ok(Climb {
        ladder: ladder.name.to_owned(),
        device: climber.device(),
        time_source: source,
        sizes: sizes.to_vec(),
        work,
        serial,
        ceilings: None,
        steps,
    })
}

fn time_serial(ladder: &Ladder, problem: &Problem) -> Seconds {
    let mut output = problem.expected.blank_output();
    let mut solve = || {
        (ladder.serial)(black_box(problem), black_box(&mut output));
        Ok::<_, std::convert::Infallible>(())
    };
    let mut cpu = CpuTime::default();
    let samples = cpu.measure(|| SERIAL.times(|| clocked(&mut solve))).unwrap_or_else(|never| match never {});
    Seconds { samples, cpu_load: cpu.load() }
}

/// The labels of the variants that are worth a prediction at the full size: the fastest with fewer columns of A. `None`
/// if all are, because they are few, or measured, or the problem has no such dimension.
///
/// The time of a product is nearly proportional to K, so that a fraction of K ranks tiles and work-groups as all of it does.
fn shortlist<C: Climber + ?Sized>(
    climber: &mut C,
    ladder: &Ladder,
    step: usize,
    problem: &Problem,
    inputs: &Inputs<'_>,
) -> Result<Option<Vec<String>>, ProblemError> {
    let source = climber.time_source();
    let Size::Matrix { m, n, k } = problem.size else { return Ok(None) };
    let fewer = (k / 8).next_multiple_of(32);
    if !source.is_predicted() || fewer > k / 2 {
        return Ok(None);
    }
    let mut variants = 0;
    if climber.attempt(ladder, step, problem, &mut |_, _| variants += 1).is_err() || variants <= FEW {
        return Ok(None);
    }
    let shorter = ladder.make_problem(Size::Matrix { m, n, k: fewer }, inputs)?;
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut wrong = false;
    let visited = climber.attempt(ladder, step, &shorter, &mut |label, attempt| {
        let once = Options { runs: 1, warmup: 0 };
        // What prepares the operands is not ranked, and only results need it.
        let seconds = attempt.and_then(|attempt| {
            if source.executes() {
                time(attempt, &shorter, once, source, true).map(|measured| measured.seconds.median())
            } else {
                attempt.run()
            }
        });
        wrong |= matches!(seconds, Err(AttemptError::Mismatch(_)));
        found.extend(seconds.ok().map(|seconds| (label.to_owned(), seconds)));
    });
    found.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    found.truncate(FULL_SIZE);
    // If one is wrong, or fewer are left, the full size says why.
    Ok((visited.is_ok() && !wrong && found.len() == FULL_SIZE)
        .then(|| found.into_iter().map(|(label, _)| label).collect()))
}

/// Measures the variants of a step that `wanted` accepts by their labels.
fn measure_step<C: Climber + ?Sized>(
    climber: &mut C,
    ladder: &Ladder,
    step: usize,
    problem: &Problem,
    options: Options,
    wanted: &dyn Fn(&str) -> bool,
) -> Outcome {
    let mut found: Vec<(String, Result<Measured, AttemptError>)> = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    // First pass: every variant. A single variant is timed in full at once.
    let mut ways = 0;
    let source = climber.time_source();
    let timed_outcome =
        |measured| if source.executes() { Outcome::Verified(measured) } else { Outcome::TimeOnly(measured) };
    let visited = climber.attempt(ladder, step, problem, &mut |label, attempt| {
        ways += 1;
        if !wanted(label) {
            return left_out.push(label.to_owned());
        }
        let compared = !label.is_empty();
        let options = if compared { Options { runs: SWEEP_RUNS, warmup: 1 } } else { options };
        let measured = attempt.and_then(|attempt| time(attempt, problem, options, source, compared));
        found.push((label.to_owned(), measured));
    });
    if let Err(error) = visited {
        return refused(&error);
    }
    // One wrong variant makes the step wrong, regardless of the others.
    if let Some((label, Err(error))) =
        found.iter().find(|(_, result)| matches!(result, Err(AttemptError::Mismatch(_))))
    {
        let place = if label.is_empty() { String::new() } else { format!("{label}: ") };
        return Outcome::Failed { reason: format!("{place}{error}") };
    }
    let best = found
        .iter()
        .enumerate()
        .filter_map(|(index, (_, result))| Some((index, result.as_ref().ok()?.seconds.median())))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(index, _)| index);
    let Some(best) = best else {
        return match found.into_iter().next() {
            Some((_, Err(error))) => refused(&error),
            _ => Outcome::Failed { reason: "the step has no variant to run".to_owned() },
        };
    };
    if ways == 1 {
        return match found.swap_remove(0).1 {
            Ok(measured) => timed_outcome(measured),
            Err(error) => refused(&error),
        };
    }
    // Second pass: the winner, timed like any other step. Another prediction would be the same.
    let winner = found[best].0.clone();
    let mut timed = None;
    let mut visited = Ok(());
    if source.is_predicted() {
        timed = found[best].1.as_ref().ok().cloned().map(Ok);
    } else {
        visited = climber.attempt(ladder, step, problem, &mut |label, attempt| {
            if label == winner {
                timed = Some(attempt.and_then(|attempt| time(attempt, problem, options, source, false)));
            }
        });
    }
    let tried = found.into_iter().map(|(label, result)| {
        (label, result.map(|measured| measured.seconds.median()).map_err(|error| error.to_string()))
    });
    let slower = format!("slower than {FULL_SIZE} others with fewer columns of A");
    let sweep = tried.chain(left_out.into_iter().map(|label| (label, Err(slower.clone())))).collect();
    match (visited, timed) {
        (Ok(()), Some(Ok(measured))) => timed_outcome(Measured { choice: Some(winner), sweep, ..measured }),
        (Err(error), _) | (_, Some(Err(error))) => refused(&error),
        (Ok(()), None) => Outcome::Failed { reason: format!("{winner} was not offered the second time") },
    }
}

fn refused(error: &AttemptError) -> Outcome {
    let reason = error.to_string();
    match error {
        AttemptError::Plan(_) | AttemptError::Execute(ExecuteError::NotOffered { .. }) => {
            Outcome::NotOffered { reason }
        }
        _ => Outcome::Failed { reason },
    }
}

/// Times an attempt. The energy of one that is only `compared` with others is not counted, as that takes a second.
fn time(
    attempt: &mut dyn Attempt,
    problem: &Problem,
    options: Options,
    source: TimeSource,
    compared: bool,
) -> Result<Measured, AttemptError> {
    let preparation_seconds = attempt.prepare()?;
    let first = attempt.run()?;
    if source.executes() {
        problem.expected.verify(&attempt.output()?)?;
    }
    if source.is_predicted() {
        let joules = attempt.joules()?;
        let seconds = Seconds { samples: vec![first], cpu_load: attempt.predicted_load() };
        return Ok(Measured { seconds, joules, preparation_seconds, choice: None, sweep: Vec::new() });
    }
    let limit = Duration::from_secs_f64(STEP_SECONDS);
    Repeat { most: options.warmup, least: 0, limit }.times(|| attempt.run())?;
    let repeat = Repeat { most: options.runs.max(1), least: LEAST_RUNS, limit };
    let mut cpu = CpuTime::default();
    let samples = cpu.measure(|| repeat.times(|| attempt.run()))?;
    let joules = if compared { None } else { attempt.joules()? };
    // A race may appear only under load.
    problem.expected.verify(&attempt.output()?)?;
    let seconds = Seconds { samples, cpu_load: cpu.load() };
    Ok(Measured { seconds, joules, preparation_seconds, choice: None, sweep: Vec::new() })
}
