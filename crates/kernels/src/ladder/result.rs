//! What climbing a ladder found.

use crate::problem::{Size, Work};

/// Repeated measurements of one thing, in seconds; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    pub(super) samples: Vec<f64>,
}

impl Seconds {
    /// `None` without samples.
    pub fn new(samples: Vec<f64>) -> Option<Self> {
        (!samples.is_empty()).then_some(Self { samples })
    }

    /// The samples in the order they were taken.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// The middle one; the mean of the two middle ones for an even number.
    pub fn median(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.samples.iter().sum::<f64>() / self.samples.len() as f64
    }

    /// The fastest.
    pub fn min(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The most a device was measured to do, for a step to be compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Bytes a second, read and written, of the best plain copy.
    pub bytes_per_second: f64,
    /// Operations a second of the best multiply-add loop in the ladder's type; a multiply-add counts as 2.
    pub operations_per_second: f64,
}

impl Ceilings {
    /// The least time `work` can take, in seconds: the slower of moving its bytes and doing its arithmetic.
    pub fn floor_seconds(&self, work: &Work) -> f64 {
        (work.bytes / self.bytes_per_second).max(work.operations / self.operations_per_second)
    }

    /// What share of the ceiling a run of `seconds` reaches. Not clamped: more than 1 says that the data stayed in
    /// a cache the ceiling was not measured in, or that the ceiling is too low.
    pub fn share(&self, work: &Work, seconds: f64) -> f64 {
        self.floor_seconds(work) / seconds
    }
}

/// A ladder climbed on one device.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The ladder's name.
    pub ladder: String,
    /// The device's name.
    pub device: String,
    /// The sizes, in the order asked for.
    pub sizes: Vec<Size>,
    /// The work of each size.
    pub work: Vec<Work>,
    /// The serial CPU version, for each size.
    pub serial: Vec<Seconds>,
    /// The device's ceilings, where they were measured.
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
    /// For each size of the climb.
    pub outcomes: Vec<Outcome>,
}

/// What became of a step at one size.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Right, and timed.
    Verified(Measured),
    /// The device lacks something it needs.
    NotOffered {
        /// What.
        reason: String,
    },
    /// Wrong, or it did not run.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The times of a verified step.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The step itself.
    pub seconds: Seconds,
    /// Packing and transposing ahead of it, where it needs any.
    pub preparation_seconds: Option<f64>,
    /// The way that won, where there were several.
    pub choice: Option<String>,
    /// Every way that was tried: its label, and its time, or why it was left out.
    pub sweep: Vec<(String, Result<f64, String>)>,
}

impl Outcome {
    /// The measurement, when there is one.
    pub fn measured(&self) -> Option<&Measured> {
        if let Self::Verified(measured) = self { Some(measured) } else { None }
    }

    /// Whether the step is wrong.
    pub fn failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl Climb {
    /// Adds what the same climber found on the same ladder at other sizes.
    pub fn append(&mut self, other: Self) {
        self.sizes.extend(other.sizes);
        self.work.extend(other.work);
        self.serial.extend(other.serial);
        for (step, other) in self.steps.iter_mut().zip(other.steps) {
            step.outcomes.extend(other.outcomes);
        }
    }

    /// Speed-up of a step over the first step at each size; `None` where either was not measured.
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
    use crate::problem::Quoted;

    #[test]
    fn statistics() {
        let seconds = Seconds::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((seconds.median(), seconds.mean(), seconds.min()), (2.5, 2.5, 1.0));
        assert_eq!(Seconds::new(vec![9.0, 1.0, 2.0]).unwrap().median(), 2.0);
        assert!(Seconds::new(vec![]).is_none());
    }

    #[test]
    fn the_slower_ceiling_counts() {
        let ceilings = Ceilings { bytes_per_second: 10.0, operations_per_second: 100.0 };
        let work = Work { operations: 50.0, bytes: 20.0, quoted: Quoted::Bandwidth };
        assert_eq!(ceilings.floor_seconds(&work), 2.0);
        assert_eq!(ceilings.share(&work, 4.0), 0.5);
        assert_eq!(ceilings.share(&Work { operations: 1000.0, ..work }, 5.0), 2.0);
    }
}
