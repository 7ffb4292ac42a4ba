//! Climbs a ladder: verifies each step, then times it.

use std::hint::black_box;
use std::time::Instant;

use thiserror::Error;
use tripipe_launch::{ExecuteError, Executor};

use super::{Climb, ClimbedStep, Ladder, Measured, Outcome, Seconds};
use crate::plan::{PlanError, Staged};
use crate::problem::{Inputs, Mismatch, Problem, ProblemError, Size, Work};

/// How often things are run.
///
/// A step that is slow is run less often: warm-up and timed runs each end after [`STEP_SECONDS`], the timed ones not
/// before [`LEAST_RUNS`]. How many there were is the number of samples in [`Measured::seconds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Timed runs of each step, at least 1.
    pub runs: usize,
    /// Runs ahead of them.
    pub warmup: usize,
}

/// Seconds after which a step is not run again.
pub const STEP_SECONDS: f64 = 5.0;
/// Timed runs of a step however slow it is, unless fewer are asked for.
pub const LEAST_RUNS: usize = 3;

/// Runs of each way in a sweep; the winner is then timed like any other step.
const SWEEP_RUNS: usize = 5;
/// Most seconds the serial version is repeated for; it runs at least once.
const SERIAL_SECONDS: f64 = 1.0;
/// Most runs of the serial version.
const SERIAL_RUNS: usize = 5;

/// A step's name and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepName {
    /// Its name.
    pub name: String,
    /// What it changes, in one sentence.
    pub about: String,
}

/// Why a step could not be tried.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// There is no plan for it on this device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It did not run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// It is wrong.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The CPU path refused.
    #[error("{0}")]
    Cpu(String),
}

/// One way to run a step, ready to go.
pub trait Attempt {
    /// Runs what comes ahead of the step; its seconds, `None` when there is nothing.
    ///
    /// # Errors
    /// It did not run.
    fn prepare(&mut self) -> Result<Option<f64>, AttemptError>;
    /// Runs the step; its seconds.
    ///
    /// # Errors
    /// It did not run.
    fn run(&mut self) -> Result<f64, AttemptError>;
    /// The result of the last run, as bytes.
    ///
    /// # Errors
    /// It could not be read.
    fn output(&mut self) -> Result<Vec<u8>, AttemptError>;
}

/// What is called with each way to run a step: its label (empty when there is only one), and the way.
pub type Visit<'v> = dyn FnMut(&str, Result<&mut dyn Attempt, AttemptError>) + 'v;

/// Something that can climb: an executor, or the CPU path.
pub trait Climber {
    /// The device's name.
    fn device(&self) -> String;
    /// Its steps of a ladder.
    fn steps(&self, ladder: &Ladder) -> Vec<StepName>;
    /// Hands each way to run a step to `visit`, one after the other.
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
}

/// How far a climb has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The size being worked on.
    pub size: Size,
    /// What is being done: `reference`, `serial CPU`, or the step's name.
    pub doing: &'a str,
    /// Pieces of work done.
    pub done: usize,
    /// Pieces of work in all.
    pub all: usize,
    /// What came of it; nothing ahead of it.
    pub found: Option<Found>,
}

/// What came of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// It is right.
    Took {
        /// Median of its runs.
        median_seconds: f64,
        /// What that was for.
        work: Work,
    },
    /// The device lacks something.
    NotOffered,
    /// It is wrong, or does not run.
    Failed,
}

impl Found {
    fn of(outcome: &Outcome, work: Work) -> Self {
        match outcome {
            Outcome::Verified(measured) => Self::Took { median_seconds: measured.seconds.median(), work },
            Outcome::NotOffered { .. } => Self::NotOffered,
            Outcome::Failed { .. } => Self::Failed,
        }
    }
}

/// Climbs `ladder`: at every size each step is verified against the reference, timed, and verified again.
///
/// A step that is wrong, or does not run, is an [`Outcome::Failed`], not an error. `progress` is called ahead of
/// each piece of work, and after what was timed.
///
/// # Errors
/// A size of another kind than the ladder's.
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
    let mut report = |size: Size, doing: &str, found: Option<Found>| {
        progress(Progress { size, doing, done, all: pieces, found });
        done += usize::from(found.is_none());
    };
    let (mut work, mut serial) = (Vec::new(), Vec::new());
    for &size in sizes {
        report(size, "reference", None);
        let problem = ladder.make_problem(size, inputs)?;
        report(size, "serial CPU", None);
        work.push(problem.work);
        let seconds = time_serial(ladder, &problem);
        let found = Found::Took { median_seconds: seconds.median(), work: problem.work };
        report(size, "serial CPU", Some(found));
        serial.push(seconds);
        for (index, step) in steps.iter_mut().enumerate() {
            report(size, &step.name, None);
            let outcome = measure_step(climber, ladder, index, &problem, options);
            report(size, &step.name, Some(Found::of(&outcome, problem.work)));
            step.outcomes.push(outcome);
        }
    }
    Ok(Climb {
        ladder: ladder.name.to_owned(),
        device: climber.device(),
        sizes: sizes.to_vec(),
        work,
        serial,
        ceilings: None,
        steps,
    })
}

fn time_serial(ladder: &Ladder, problem: &Problem) -> Seconds {
    let mut samples = Vec::new();
    let mut output = problem.expected.blank_output();
    while samples.len() < SERIAL_RUNS {
        let start = Instant::now();
        (ladder.serial)(black_box(problem), black_box(&mut output));
        samples.push(start.elapsed().as_secs_f64());
        if samples.iter().sum::<f64>() > SERIAL_SECONDS {
            break;
        }
    }
    Seconds { samples }
}

fn measure_step<C: Climber + ?Sized>(
    climber: &mut C,
    ladder: &Ladder,
    step: usize,
    problem: &Problem,
    options: Options,
) -> Outcome {
    let mut found: Vec<(String, Result<Measured, AttemptError>)> = Vec::new();
    // First pass: every way. One way alone is timed in full at once.
    let mut ways = 0;
    let visited = climber.attempt(ladder, step, problem, &mut |label, attempt| {
        ways += 1;
        let options = if label.is_empty() { options } else { Options { runs: SWEEP_RUNS, warmup: 1 } };
        found.push((label.to_owned(), attempt.and_then(|attempt| time(attempt, problem, options))));
    });
    if let Err(error) = visited {
        return refused(&error);
    }
    // One wrong way makes the step wrong, whatever the others do.
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
            _ => Outcome::Failed { reason: "the step has no way to run".to_owned() },
        };
    };
    if ways == 1 {
        return match found.swap_remove(0).1 {
            Ok(measured) => Outcome::Verified(measured),
            Err(error) => refused(&error),
        };
    }
    // Second pass: the winner, timed like any other step.
    let winner = found[best].0.clone();
    let mut timed = None;
    let visited = climber.attempt(ladder, step, problem, &mut |label, attempt| {
        if label == winner {
            timed = Some(attempt.and_then(|attempt| time(attempt, problem, options)));
        }
    });
    let sweep = found
        .into_iter()
        .map(|(label, result)| {
            (label, result.map(|measured| measured.seconds.median()).map_err(|error| error.to_string()))
        })
        .collect();
    match (visited, timed) {
        (Ok(()), Some(Ok(measured))) => {
            Outcome::Verified(Measured { choice: Some(winner), sweep, ..measured })
        }
        (Err(error), _) | (_, Some(Err(error))) => refused(&error),
        (Ok(()), None) => Outcome::Failed { reason: format!("{winner} was not offered a second time") },
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

fn time(attempt: &mut dyn Attempt, problem: &Problem, options: Options) -> Result<Measured, AttemptError> {
    let preparation_seconds = attempt.prepare()?;
    attempt.run()?;
    problem.expected.verify(&attempt.output()?)?;
    let start = Instant::now();
    for _ in 0..options.warmup {
        if start.elapsed().as_secs_f64() > STEP_SECONDS {
            break;
        }
        attempt.run()?;
    }
    let start = Instant::now();
    let mut samples = Vec::with_capacity(options.runs);
    while samples.len() < options.runs.max(1) {
        if samples.len() >= LEAST_RUNS && start.elapsed().as_secs_f64() > STEP_SECONDS {
            break;
        }
        samples.push(attempt.run()?);
    }
    // A race may show only under load.
    problem.expected.verify(&attempt.output()?)?;
    Ok(Measured { seconds: Seconds { samples }, preparation_seconds, choice: None, sweep: Vec::new() })
}
