//! The results of climbing a ladder.

use tripipe_kernels::ceilings::Ceilings;
use tripipe_launch::{CpuLoad, TimeSource};

use crate::problem::{Size, Work};

/// Repeated measurements of the same task, in seconds; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    pub(super) samples: Vec<f64>,
    pub(super) cpu_load: Option<CpuLoad>,
}

impl Seconds {
    /// `None` without samples.
    pub fn new(samples: Vec<f64>, cpu_load: Option<CpuLoad>) -> Option<Self> {
        (!samples.is_empty()).then_some(Self { samples, cpu_load })
    }

    /// The samples in the order of measurement.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// The load of the host's CPU during these runs; `None` if it is not known.
    pub fn cpu_load(&self) -> Option<CpuLoad> {
        self.cpu_load
    }

    /// The median; for an even number of samples, the mean of the two middle ones.
    pub fn median(&self) -> f64 {
        tripipe_kernels::bench::median(&self.samples)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.samples.iter().sum::<f64>() / self.samples.len() as f64
    }

    /// The shortest time.
    pub fn min(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The longest time.
    pub fn max(&self) -> f64 {
        self.samples.iter().copied().fold(0.0, f64::max)
    }
}

/// A ladder climbed on one device.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The ladder's name.
    pub ladder: String,
    /// The device's name.
    pub device: String,
    /// The sizes, in the requested order.
    pub sizes: Vec<Size>,
    /// Where its times come from.
    pub time_source: TimeSource,
    /// The work of each size.
    pub work: Vec<Work>,
    /// The serial CPU version, for each size; empty if times are predicted.
    pub serial: Vec<Seconds>,
    /// The device's ceilings, if they were measured.
    pub ceilings: Option<Ceilings>,
    /// The steps, in the ladder's order.
    pub steps: Vec<ClimbedStep>,
}

/// One step at every size.
#[derive(Clone, Debug)]
pub struct ClimbedStep {
    /// Its name.
    pub name: String,
    /// What it changes.
    pub about: String,
    /// One outcome for each size of the climb.
    pub outcomes: Vec<Outcome>,
}

/// The outcome of a step at one size.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Correct and timed.
    Verified(Measured),
    /// Its time was predicted, and it was not executed.
    TimeOnly(Measured),
    /// The device lacks something it needs.
    NotOffered {
        /// What is missing.
        reason: String,
    },
    /// Wrong, or the step did not run.
    Failed {
        /// The cause.
        reason: String,
    },
}

/// The times of a step.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The step itself.
    pub seconds: Seconds,
    /// The energy of a run in joules, without the preparation; `None` if it is not known.
    pub joules: Option<f64>,
    /// Time of packing and transposing before the step, if it needs any.
    pub preparation_seconds: Option<f64>,
    /// The fastest variant, if there were several.
    pub choice: Option<String>,
    /// Every variant tried: its label, and its time or the reason why it was left out.
    pub sweep: Vec<(String, Result<f64, String>)>,
}

impl Outcome {
    /// The measurement; `None` for the other outcomes.
    pub fn measured(&self) -> Option<&Measured> {
        match self {
            Self::Verified(measured) | Self::TimeOnly(measured) => Some(measured),
            Self::NotOffered { .. } | Self::Failed { .. } => None,
        }
    }

    /// Whether the step is wrong.
    pub fn failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl Climb {
    /// Appends the results of the same climber on the same ladder at other sizes.
    pub fn append(&mut self, other: Self) {
        self.sizes.extend(other.sizes);
        self.work.extend(other.work);
        self.serial.extend(other.serial);
        for (step, other) in self.steps.iter_mut().zip(other.steps) {
            step.outcomes.extend(other.outcomes);
        }
    }

    /// Speed-up of a step over the first step at each size; `None` when either was not measured.
    pub fn speedups(&self, step: &ClimbedStep) -> Vec<Option<f64>> {
        let first = self.steps.first();
        (0..self.sizes.len())
            .map(|size| {
                let base = first?.outcomes.get(size)?.measured()?.seconds.median();
                Some(base / step.outcomes.get(size)?.measured()?.seconds.median())
            })
            .collect()
    }

    /// Whether any step is wrong at any size.
    pub fn failed(&self) -> bool {
        self.steps.iter().any(|step| step.outcomes.iter().any(Outcome::failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics() {
        let seconds = Seconds::new(vec![4.0, 1.0, 3.0, 2.0], None).unwrap();
        assert_eq!((seconds.median(), seconds.mean()), (2.5, 2.5));
        assert_eq!((seconds.min(), seconds.max()), (1.0, 4.0));
        assert_eq!(Seconds::new(vec![9.0, 1.0, 2.0], None).unwrap().median(), 2.0);
        assert!(Seconds::new(vec![], None).is_none());
    }
}
