//! A climbed ladder, as text, CSV and a result.

mod balance;
pub(crate) mod beside;
mod csv;
mod published;
mod result;
mod side_by_side;
mod text;

use tripipe_ladders::catalog;
use tripipe_ladders::ladder::{Climb, ClimbedStep, Measured, Options, Outcome};
use tripipe_ladders::problem::{Quoted, Size};
use tripipe_ladders::published::Published;
use tripipe_launch::ScalarType;
use tripipe_results::{Crossover, LadderCore};
use tripipe_timing::energy::{Energy, gflops_per_watt};
use tripipe_timing::errors::ErrorTable;

use crate::number::significant;

pub use csv::csv;
pub(crate) use published::is_of;
pub use result::result;
pub(crate) use side_by_side::flips;
pub use side_by_side::side_by_side;
pub use text::{legend, row, text};

/// A climb and its descriptions.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The results.
    pub climb: &'a Climb,
    /// What the ladder computes, in one sentence.
    pub about: &'a str,
    /// The device in one line: platform, version, GPU model.
    pub what: &'a str,
    /// The number of runs of each step.
    pub options: Options,
    /// Published figures for comparison.
    pub published: Option<&'a Published>,
    /// The core beside the GPU, if the device is a board.
    pub core: Option<&'a LadderCore>,
    /// Where the GPU overtakes that core.
    pub crossover: Option<&'a Crossover>,
    /// How far predictions are from published times, if times are predicted and such times are known.
    pub errors: Option<&'a ErrorTable>,
    /// If energies are wanted: one on this GPU, for what estimates are based on, or why there are none.
    pub energy: Option<&'a Result<StepEnergy, String>>,
}

/// What the energies of steps are.
#[derive(Clone, Debug)]
pub enum StepEnergy {
    /// Estimates from predicted counters, such as this one.
    Estimate(Energy),
    /// By the counter of NVIDIA's driver.
    Counted,
}

impl Report<'_> {
    /// How much arithmetic is free, a sentence for each size, on the ladder that shows it. The CPU path has other steps.
    fn balance(&self) -> Vec<String> {
        let climb = self.climb;
        let ladder = catalog::find(&climb.ladder);
        let sentence = |(column, size): (usize, &Size)| {
            let time = |step: &'_ ClimbedStep| Some(step.outcomes.get(column)?.measured()?.seconds.median());
            let is_own = |name: &str| ladder.is_some_and(|ladder| ladder.step(name).is_some());
            let steps: Option<Vec<(&str, f64)>> = climb
                .steps
                .iter()
                .map(|step| Some((step.name.as_str(), time(step).filter(|_| is_own(&step.name))?)))
                .collect();
            balance::balance(&climb.ladder, &size.to_string(), &steps?)
        };
        climb.sizes.iter().enumerate().filter_map(sentence).collect()
    }

    /// Whether steps have energies.
    fn has_energy(&self) -> bool {
        matches!(self.energy, Some(Ok(_)))
    }

    /// Whether the operations of the problem are those of floats, so that there are GFLOP/s per watt.
    fn has_floats(&self) -> bool {
        let element = catalog::find(&self.climb.ladder).map(|ladder| ladder.element);
        let floats = matches!(element, Some(ScalarType::F16 | ScalarType::F32 | ScalarType::F64));
        floats && self.climb.work.iter().any(|work| work.operations > 0.0)
    }

    /// What the energies are, and what they are based on, or why there are none; `None` if none are wanted.
    fn energy_basis(&self) -> Option<String> {
        Some(match self.energy? {
            Err(reason) => format!("Energy: {reason}."),
            Ok(energy) => {
                let rate = if self.has_floats() {
                    "; GFLOP/s per W are the operations of the problem by its energy"
                } else {
                    ""
                };
                match energy {
                    StepEnergy::Estimate(energy) => {
                        let volts = significant(energy.reference_volts);
                        let basis = crate::simulation::energy::basis(energy);
                        format!("mJ is the energy of a step, as an estimate, at {volts} V{rate}. {basis}")
                    }
                    StepEnergy::Counted => format!(
                        "mJ is the energy of a step by NVML's counter of the whole board, while the step was repeated for a second; \
                         what the board uses without work is in it{rate}."
                    ),
                }
            }
        })
    }
}

/// The unit that a size's rate is given in.
fn rate_unit(quoted: Quoted) -> &'static str {
    match quoted {
        Quoted::Bandwidth => "GB/s",
        Quoted::Arithmetic => "GFLOP/s",
    }
}

/// The figures of one step at one size that every format shows.
struct Figures<'a> {
    measured: &'a Measured,
    median: f64,
    mean: f64,
    /// Relative to the first step.
    speedup: Option<f64>,
    /// Relative to the serial CPU version.
    serial_speedup: Option<f64>,
    /// 10^9 of the size's unit per second.
    rate: Option<f64>,
    ceiling_share: Option<f64>,
    /// The operations of the problem by the energy.
    gflops_per_watt: Option<f64>,
}

impl<'a> Figures<'a> {
    /// `None` where the step was not measured.
    fn of(report: &Report<'a>, step: &'a ClimbedStep, size: usize) -> Option<Self> {
        let climb = report.climb;
        let measured = step.outcomes.get(size)?.measured()?;
        // The median, because a single run that was interrupted does not move it.
        let median = measured.seconds.median();
        let work = climb.work.get(size);
        Some(Self {
            measured,
            median,
            mean: measured.seconds.mean(),
            speedup: climb.speedups(step).get(size).copied().flatten(),
            serial_speedup: climb.serial.get(size).map(|serial| serial.median() / median),
            rate: work.map(|work| work.rate(median)),
            ceiling_share: work
                .zip(climb.ceilings.as_ref())
                .map(|(work, ceilings)| work.share(ceilings, median)),
            gflops_per_watt: work
                .zip(measured.joules)
                .filter(|_| report.has_floats())
                .and_then(|(work, joules)| gflops_per_watt(work.operations, joules)),
        })
    }
}

/// `verified`, `not offered` or `failed`, and the reason.
fn verdict(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Verified(_) => ("verified", None),
        Outcome::TimeOnly(_) => ("not executed", None),
        Outcome::NotOffered { reason } => ("not offered", Some(reason)),
        Outcome::Failed { reason } => ("failed", Some(reason)),
    }
}
