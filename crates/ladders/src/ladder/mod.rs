//! Ladders: the kernels of a family, from the simplest to the fastest.

mod climb;
mod cpu;
mod result;

use tripipe_device::Probe;
use tripipe_kernels::{Plan, PlanError};
use tripipe_launch::ScalarType;

pub use climb::{
    Attempt, AttemptError, Climber, LEAST_RUNS, Options, Progress, STEP_SECONDS, StepName, StepResult, Visit,
    climb,
};
pub use cpu::CpuClimber;
pub use result::{Climb, ClimbedStep, Measured, Outcome, Seconds};

use crate::problem::{Data, Inputs, Problem, ProblemError, Size, SizeKind};

/// The kernels of a family, in order.
///
/// For every size, all steps solve the same problem and give the same result.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// Its name, e.g. `laplace`.
    pub name: &'static str,
    /// What is computed, in one sentence.
    pub about: &'static str,
    /// The type of its arithmetic, which selects the multiply-add ceiling for comparison.
    pub element: ScalarType,
    /// The kind of its sizes.
    pub size_kind: SizeKind,
    /// Default sizes.
    pub default_sizes: &'static [Size],
    /// The steps, from the simplest to the fastest.
    pub steps: &'static [Step],
    /// Makes a problem of a size that [`SizeKind::parse`] accepts, including the expected result.
    pub problem: fn(Size, &Inputs<'_>) -> Problem,
    /// Solves the problem with simple code on one CPU thread: the baseline of published speed-ups. The output is
    /// [`crate::Expected::blank_output`] of the same problem.
    pub serial: fn(&Problem, &mut Data),
    /// The kernels as they were published, with the published launches and sizes; `None` if there are none.
    pub published: Option<&'static Ladder>,
}

/// One of several variants of a step, e.g. one work-group size of a sweep.
#[derive(Clone, Debug)]
pub struct Variant<'p> {
    /// The label that distinguishes it, e.g. `8x4`; empty when the step has only one variant.
    pub label: String,
    /// The plan of the variant.
    pub plan: Plan<'p>,
}

/// The result of planning a step: its variants, at least one.
pub type Variants<'p> = Result<Vec<Variant<'p>>, PlanError>;

impl<'p> Variant<'p> {
    /// The variants of a step that has only one.
    pub fn only(plan: Plan<'p>) -> Vec<Self> {
        vec![Self { label: String::new(), plan }]
    }
}

/// One kernel of a ladder.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its name, e.g. `synthesise-loads`.
    pub name: &'static str,
    /// What it changes compared with the previous step, in one sentence.
    pub about: &'static str,
    /// The variants of the step for a device, at least one.
    pub plan: for<'p> fn(&'p Problem, &Probe) -> Variants<'p>,
}

impl Ladder {
    /// A problem of this ladder.
    ///
    /// # Errors
    /// The size is of another kind.
    pub fn make_problem(&self, size: Size, inputs: &Inputs<'_>) -> Result<Problem, ProblemError> {
        if size.kind() != self.size_kind {
            return Err(ProblemError::Kind { size, ladder: self.name.to_owned(), want: self.size_kind });
        }
        Ok((self.problem)(size, inputs))
    }

    /// The step with this name.
    pub fn step(&self, name: &str) -> Option<&'static Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}
