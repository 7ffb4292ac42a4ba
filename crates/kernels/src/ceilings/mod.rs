//! Measured ceilings of a device: the rate of multiply-adds, the bandwidth of buffers, the cost of a launch.
//!
//! Every kernel writes a result that the host computes independently and compares, so that a rate is not that of a
//! loop that the compiler removed. A multiply-add counts as 2 operations. A copied byte counts twice, once read and
//! once written. Seconds are measured by the device, from a launch's start to its end.

pub mod arithmetic;
mod effort;
mod error;
pub mod launch;
pub mod memory;

use tripipe_device::DeviceKind;
use tripipe_launch::{ExecuteError, Executor, ScalarType};

use crate::bench::Bench;
pub use effort::Effort;
pub use error::PeakError;

/// The highest rates measured on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Bytes per second, read plus written, of the best plain copy.
    pub bytes_per_second: f64,
    /// Operations per second of the best multiply-add loop in one type; a multiply-add counts as 2.
    pub operations_per_second: f64,
}

/// Seconds from start to end of a nearly empty kernel: a lower bound for every kernel.
///
/// # Errors
/// The device failed, or its clock shows no time passing.
pub fn launch_seconds(executor: &mut dyn Executor) -> Result<f64, ExecuteError> {
    let seconds = launch::seconds(&mut Bench::new(executor), launch::Cost::Kernel);
    seconds.map_err(|error| execute_error(error, executor))
}

/// The ceilings for arithmetic in `element`, measured in about a second: the best copy and the best multiply-add
/// rate, each over the widths 4 and 16, on CPUs 8 and 16. One of the two matches the width of the registers.
///
/// # Errors
/// The device does not offer the type or has no multiply-add row for it, failed, or computed a wrong result.
pub fn measure(executor: &mut dyn Executor, element: ScalarType) -> Result<Ceilings, ExecuteError> {
    let Some(mad) = arithmetic::MADS.iter().find(|mad| mad.stands_for(element)) else {
        let what = format!("a multiply-add rate of {}", element.opencl_name());
        return Err(ExecuteError::NotOffered { what, device: executor.probe().name.clone() });
    };
    let mut best = [0.0f64; 2];
    let widths = if executor.probe().kind == DeviceKind::Cpu { [8, 16] } else { [4, 16] };
    for width in widths {
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
