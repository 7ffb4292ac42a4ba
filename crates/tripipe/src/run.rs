//! Runs an operation: a plan on an OpenCL device, or a closure on the CPU path.

use std::time::Instant;

use tripipe_kernels::{Plan, PlanError};

use crate::device::{Device, cpu_name, executor};
use crate::{Error, Explanation};

/// A kernel and the reason for it.
pub(crate) struct Pick<'p> {
    pub(crate) kernel: String,
    pub(crate) why: String,
    pub(crate) plan: Result<Plan<'p>, PlanError>,
}

/// Runs a plan once and copies its result out.
pub(crate) fn on_opencl(
    device: &tripipe_opencl::Device,
    pick: Pick<'_>,
    result: &mut [u8],
) -> Result<Explanation, Error> {
    let start = Instant::now();
    let plan = pick.plan?;
    let mut executor = executor(device)?;
    let mut staged = plan.stage(&mut executor)?;
    let preparation_seconds = staged.prepare()?;
    let seconds = staged.run()?;
    let output = staged.output()?;
    if output.len() != result.len() {
        return Err(Error::Length { operand: "the result", want: output.len(), found: result.len() });
    }
    result.copy_from_slice(&output);
    Ok(Explanation {
        device: Device::OpenCl(device.clone()).name(),
        kernel: pick.kernel,
        why: pick.why,
        seconds,
        preparation_seconds,
        total_seconds: start.elapsed().as_secs_f64(),
    })
}

/// Runs an operation of the CPU path.
pub(crate) fn on_cpu(
    kernel: &str,
    why: &str,
    operation: impl FnOnce() -> Result<(), crate::cpu::CpuError>,
) -> Result<Explanation, Error> {
    let start = Instant::now();
    operation()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Explanation {
        device: cpu_name(),
        kernel: kernel.to_owned(),
        why: why.to_owned(),
        seconds,
        preparation_seconds: None,
        total_seconds: seconds,
    })
}
