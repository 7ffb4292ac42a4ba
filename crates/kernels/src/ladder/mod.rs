//! Ladders: the kernels of a family from the plain one to the fast one.

mod climb;
mod result;

use tripipe_device::Probe;
use tripipe_launch::ScalarType;

pub use climb::{
    Attempt, AttemptError, Climber, Found, LEAST_RUNS, Options, Progress, STEP_SECONDS, StepName, Visit,
    climb,
};
pub use result::{Ceilings, Climb, ClimbedStep, Measured, Outcome, Seconds};

use crate::plan::Variants;
use crate::problem::{Data, Inputs, Problem, ProblemError, Size, SizeKind};

/// A family's kernels, lined up.
///
/// Every step solves the same problem with the same result for every size.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// Its name, e.g. `laplace`.
    pub name: &'static str,
    /// What is computed, in one sentence.
    pub about: &'static str,
    /// The type its arithmetic is done in: which multiply-add ceiling its steps are compared with.
    pub element: ScalarType,
    /// What sizes look like.
    pub size_kind: SizeKind,
    /// Sizes worth looking at when nobody says which.
    pub default_sizes: &'static [Size],
    /// From the plain one to the fast one.
    pub steps: &'static [Step],
    /// Makes a problem of a size that [`SizeKind::parse`] lets through. The answer is computed here.
    pub problem: fn(Size, &Inputs<'_>) -> Problem,
    /// Solves it plainly on one CPU thread: the baseline published speed-ups are measured against.
    /// The output is [`crate::Expected::blank_output`] of the same problem.
    pub serial: fn(&Problem, &mut Data),
}

/// One kernel of a ladder.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its name, e.g. `synthesise-loads`.
    pub name: &'static str,
    /// What it changes over the step before, in one sentence.
    pub about: &'static str,
    /// The ways to run it on a device, at least one.
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

    /// The step of that name.
    pub fn step(&self, name: &str) -> Option<&'static Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// Every ladder there is.
pub fn ladders() -> &'static [Ladder] {
    &[
        crate::vector_add::LADDER,
        crate::saxpy::LADDER,
        crate::rgb_planar::LADDER,
        crate::rgb_planar::LADDER_BACK,
        crate::transpose::LADDER,
        crate::laplace::LADDER,
        crate::laplace_gray::LADDER,
        crate::gemm::LADDER,
        crate::gemm::LADDER_F16,
    ]
}

/// The ladder of that name.
pub fn find(name: &str) -> Option<&'static Ladder> {
    ladders().iter().find(|ladder| ladder.name == name)
}
