//! Measured ceilings of a device: multiply-add rates, bandwidths, the cost of a launch.
//!
//! Every kernel writes a result that the host computes on its own and compares, so that a rate is not that of a loop
//! the compiler dropped. A multiply-add counts as 2 operations; a copied byte counts twice, once read and
//! once written; seconds are the device's own, from a launch's start to its end.
//!
//! What is not looked at: sustained clocks (a row lasts tens of milliseconds), atomics, constant memory, transfers
//! between host and device.

mod arithmetic;
mod bench;
mod launch;
mod memory;

use thiserror::Error;
use tripipe_launch::{ExecuteError, Executor, ScalarType};

use crate::ladder::Ceilings;
use bench::Bench;

/// The vector widths measured: all that OpenCL C has, but 3.
pub const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// How much time may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Around a second: short runs over buffers just past the cache.
    Quick,
    /// Several seconds.
    Full,
}

/// The unit of a measured ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Operations a second; a multiply-add is 2.
    OperationsPerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
}

/// One measured ceiling.
#[derive(Debug)]
pub struct Peak {
    /// What was measured, e.g. `mad float`, `buffer copy`.
    pub name: &'static str,
    /// Elements a vector; `None` where that is no question.
    pub width: Option<usize>,
    /// The best of several rounds, or why there is none.
    pub value: Result<f64, PeakError>,
    /// What it counts.
    pub unit: Unit,
}

/// Every ceiling of a device.
#[derive(Debug)]
pub struct Peaks {
    /// In the order they were measured: arithmetic, buffers, images, local memory, launches.
    pub rows: Vec<Peak>,
}

impl Peaks {
    /// The best of the rows of that name.
    pub fn best(&self, name: &str) -> Option<f64> {
        let values =
            self.rows.iter().filter(|row| row.name == name).filter_map(|row| row.value.as_ref().ok());
        values.copied().max_by(f64::total_cmp)
    }
}

/// Why a ceiling is missing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PeakError {
    /// The device lacks what is to be measured.
    #[error("no {what}")]
    NotOffered {
        /// What is missing.
        what: String,
    },
    /// The kernel did not compute what it should, so its time says nothing.
    #[error("wrong result: {what}")]
    Wrong {
        /// What is wrong, and where.
        what: String,
    },
    /// The device's clock did not move while the kernel ran.
    #[error("the device's clock shows no time passing")]
    Clock,
    /// It did not run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// Measures every ceiling; `progress` is called with the name of each ahead of it.
///
/// A ceiling that cannot be measured is a row that says why.
///
/// # Errors
/// The device is gone.
pub fn measure(
    executor: &mut dyn Executor,
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<Peaks, ExecuteError> {
    let mut rows = Vec::new();
    let mut add = |row: Peak| {
        if let Err(PeakError::Execute(lost @ ExecuteError::DeviceLost { .. })) = row.value {
            return Err(lost);
        }
        rows.push(row);
        Ok(())
    };
    for mad in arithmetic::MADS {
        for width in WIDTHS {
            progress(&format!("{} x{width}", mad.name));
            let value = arithmetic::rate(&mut Bench::new(executor), mad, width, effort);
            add(Peak { name: mad.name, width: Some(width), value, unit: Unit::OperationsPerSecond })?;
        }
    }
    for transfer in memory::Transfer::ALL {
        for width in WIDTHS {
            progress(&format!("{} x{width}", transfer.name()));
            let value = memory::buffer(&mut Bench::new(executor), transfer, width, effort);
            add(Peak { name: transfer.name(), width: Some(width), value, unit: Unit::BytesPerSecond })?;
        }
    }
    for texel in memory::Texel::ALL {
        progress(texel.name());
        let value = memory::image(&mut Bench::new(executor), texel, effort);
        add(Peak { name: texel.name(), width: Some(4), value, unit: Unit::BytesPerSecond })?;
    }
    progress(memory::LOCAL);
    let value = memory::local(&mut Bench::new(executor), effort);
    add(Peak { name: memory::LOCAL, width: Some(4), value, unit: Unit::BytesPerSecond })?;
    for cost in launch::Cost::ALL {
        progress(cost.name());
        let value = launch::seconds(&mut Bench::new(executor), cost);
        add(Peak { name: cost.name(), width: None, value, unit: Unit::Seconds })?;
    }
    Ok(Peaks { rows })
}

/// Seconds from start to end of a kernel that does next to nothing: what no kernel gets below.
///
/// # Errors
/// The device failed, or its clock shows no time passing.
pub fn launch_seconds(executor: &mut dyn Executor) -> Result<f64, ExecuteError> {
    let seconds = launch::seconds(&mut Bench::new(executor), launch::Cost::Kernel);
    seconds.map_err(|error| execute_error(error, executor))
}

/// The ceilings that a ladder over `element` is held against, in about a second: the best copy and the best
/// multiply-add rate, each over the widths 4 and 16.
///
/// # Errors
/// The device does not offer the type or has no multiply-add row for it, failed, or computed something wrong.
pub fn ceilings(executor: &mut dyn Executor, element: ScalarType) -> Result<Ceilings, ExecuteError> {
    let Some(mad) = arithmetic::MADS.iter().find(|mad| mad.stands_for(element)) else {
        let what = format!("a multiply-add rate of {}", element.opencl_name());
        return Err(ExecuteError::NotOffered { what, device: executor.probe().name.clone() });
    };
    let mut best = [0.0f64; 2];
    for width in [4, 16] {
        let copy = memory::buffer(&mut Bench::new(executor), memory::Transfer::Copy, width, Effort::Quick);
        let rate = arithmetic::rate(&mut Bench::new(executor), mad, width, Effort::Quick);
        for (best, value) in best.iter_mut().zip([copy, rate]) {
            *best = best.max(value.map_err(|error| execute_error(error, executor))?);
        }
    }
    let [bytes_per_second, operations_per_second] = best;
    Ok(Ceilings { bytes_per_second, operations_per_second })
}

fn execute_error(error: PeakError, executor: &dyn Executor) -> ExecuteError {
    match error {
        PeakError::Execute(error) => error,
        PeakError::NotOffered { what } => {
            ExecuteError::NotOffered { what, device: executor.probe().name.clone() }
        }
        error => ExecuteError::Backend { during: "measuring ceilings".to_owned(), source: error.into() },
    }
}
