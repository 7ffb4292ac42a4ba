//! Measures transfer rates between host and device for each transfer mode, and the cost of a launch.
//!
//! In every mode the host's side is an ordinary array: *to device* lasts from having the bytes there until the device
//! may read them, *to host* from the end of the kernel until they are there again. Mapped modes therefore include the
//! host's one pass over the bytes, which a program that computes in place avoids.

use std::fmt;
use std::time::Instant;

use thiserror::Error;
use tripipe_launch::{Access, NdRange};

use crate::code::CallError;
use crate::context::Context;
use crate::devices::Device;
use crate::kernel::{Arg, Kernel, LaunchError};
use crate::memory::{Buffer, HostMemory, MemoryError, SvmBuffer, SvmGrain};
use crate::program::{BuildError, Program};
use crate::queue::Queue;

/// How contents are brought to the device and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransferMode {
    /// A device buffer, written and read explicitly from pageable host memory.
    Copy,
    /// A host-visible buffer (`CL_MEM_ALLOC_HOST_PTR`), mapped and unmapped.
    Map,
    /// A buffer over page-aligned host memory (`CL_MEM_USE_HOST_PTR`), mapped and unmapped.
    UseHostPtr,
    /// Coarse-grained shared virtual memory, mapped and unmapped.
    SvmCoarse,
    /// Fine-grained shared virtual memory, accessed in place.
    SvmFine,
}

impl TransferMode {
    /// All modes, in the order they are measured.
    pub const ALL: [Self; 5] = [Self::Copy, Self::Map, Self::UseHostPtr, Self::SvmCoarse, Self::SvmFine];

    /// A short name: `copy`, `map`, `use-host-ptr`, `svm-coarse`, `svm-fine`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Map => "map",
            Self::UseHostPtr => "use-host-ptr",
            Self::SvmCoarse => "svm-coarse",
            Self::SvmFine => "svm-fine",
        }
    }
}

impl fmt::Display for TransferMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The transfer rates of one mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferRates {
    /// The mode.
    pub mode: TransferMode,
    /// Bytes of one transfer.
    pub bytes: usize,
    /// Bytes per second from host to device, of the median run.
    pub to_device: f64,
    /// Bytes per second from device to host, of the median run.
    pub to_host: f64,
}

/// The cost of launching an empty kernel, in seconds; medians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchOverhead {
    /// From the host's call to the kernel's start, by the device's clock.
    pub queued_to_start: f64,
    /// From the driver's submission to the kernel's start, by the device's clock.
    pub submit_to_start: f64,
    /// From the host's call until the host knows that the kernel has ended, by the host's clock.
    pub round_trip: f64,
}

/// Why a transfer could not be measured.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// No runs were requested.
    #[error("0 runs measure nothing")]
    NoRuns,
    /// Contents came back changed: the mode does not work on this device.
    #[error("{mode}: byte {byte} came back wrong")]
    Wrong {
        /// The mode.
        mode: TransferMode,
        /// The first wrong byte.
        byte: usize,
    },
    /// The mode's memory cannot be allocated or used.
    #[error("{mode}: {source}")]
    Memory {
        /// The mode.
        mode: TransferMode,
        /// The cause.
        source: MemoryError,
    },
    /// The kernel that changes the contents does not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The kernel that changes the contents cannot run.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The driver failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// `flip` inverts all bits, so that contents that never reached the device, or never came back, are detected.
const SOURCE: &str = "kernel void flip(global uint *all) { all[get_global_id(0)] = ~all[get_global_id(0)]; }
kernel void nothing(void) {}
";

/// Measures one mode with transfers of `bytes` bytes (rounded up to a multiple of 4), `runs` times after one untimed
/// run. In every run a kernel changes all bytes between the two transfers, and the result is compared. `None` if the
/// device does not support the mode.
///
/// # Errors
/// No runs, too many bytes for the device, wrong contents, or the driver fails.
pub fn measure(
    device: &Device,
    mode: TransferMode,
    bytes: usize,
    runs: usize,
) -> Result<Option<TransferRates>, TransferError> {
    if runs == 0 {
        return Err(TransferError::NoRuns);
    }
    let bytes = bytes.next_multiple_of(4);
    let context = Context::new(device)?;
    let queue = Queue::new(&context)?;
    let flip = kernel(&context, "flip")?;
    let failed = |source| TransferError::Memory { mode, source };
    let mut carrier = match Carrier::new(&queue, mode, bytes) {
        Err(MemoryError::NotOffered { .. }) => return Ok(None),
        carrier => carrier.map_err(failed)?,
    };

    let mut sent = vec![0u8; bytes];
    let mut came = vec![0u8; bytes];
    let (mut there, mut back) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
    for run in 0..=runs {
        // A different pattern each time, without a short period.
        for (index, byte) in sent.iter_mut().enumerate() {
            *byte = (index.wrapping_mul(2_654_435_761).wrapping_add(run.wrapping_mul(97)) >> 8) as u8;
        }
        let start = Instant::now();
        carrier.send(&queue, &sent).map_err(failed)?;
        let to_device = start.elapsed();
        flip.launch(&queue, &[carrier.argument()], &NdRange::d1(bytes / 4))?.wait()?;
        let start = Instant::now();
        carrier.fetch(&queue, &mut came).map_err(failed)?;
        let to_host = start.elapsed();
        if let Some(byte) = sent.iter().zip(&came).position(|(sent, came)| *came != !*sent) {
            return Err(TransferError::Wrong { mode, byte });
        }
        if run > 0 {
            there.push(to_device.as_secs_f64());
            back.push(to_host.as_secs_f64());
        }
    }
    Ok(Some(TransferRates {
        mode,
        bytes,
        to_device: bytes as f64 / median(&mut there),
        to_host: bytes as f64 / median(&mut back),
    }))
}

/// Measures the cost of a launch, `runs` times after one untimed run.
///
/// # Errors
/// No runs, or the driver fails.
pub fn launch_overhead(device: &Device, runs: usize) -> Result<LaunchOverhead, TransferError> {
    if runs == 0 {
        return Err(TransferError::NoRuns);
    }
    let context = Context::new(device)?;
    let queue = Queue::with_profiling(&context)?;
    let nothing = kernel(&context, "nothing")?;
    let (mut queued, mut submit, mut trip) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=runs {
        let start = Instant::now();
        let event = nothing.launch(&queue, &[], &NdRange::d1(1))?;
        queue.flush()?;
        event.wait()?;
        let elapsed = start.elapsed();
        let timing = event.timing()?;
        if run > 0 {
            queued.push(timing.start_ns.saturating_sub(timing.queued_ns) as f64 * 1e-9);
            submit.push(timing.start_ns.saturating_sub(timing.submit_ns) as f64 * 1e-9);
            trip.push(elapsed.as_secs_f64());
        }
    }
    Ok(LaunchOverhead {
        queued_to_start: median(&mut queued),
        submit_to_start: median(&mut submit),
        round_trip: median(&mut trip),
    })
}

fn kernel(context: &Context, entry: &str) -> Result<Kernel, TransferError> {
    let program = Program::build(context, &tripipe_launch::Program::from_source("transfer.cl", SOURCE))?;
    Ok(program.kernel(entry)?)
}

/// The median; for an even number of values, the mean of the two middle ones. NaN if there are none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len() % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The memory of one mode.
enum Carrier {
    Copied(Buffer<'static>),
    Mapped(Buffer<'static>),
    Shared(SvmBuffer),
}

impl Carrier {
    fn new(queue: &Queue, mode: TransferMode, bytes: usize) -> Result<Self, MemoryError> {
        let (context, access) = (queue.context(), Access::ReadWrite);
        Ok(match mode {
            TransferMode::Copy => Self::Copied(Buffer::on_device(context, bytes, access)?),
            TransferMode::Map => Self::Mapped(Buffer::alloc_host(context, bytes, access)?),
            TransferMode::UseHostPtr => {
                Self::Mapped(Buffer::over_owned(context, HostMemory::zeroed(bytes)?, access)?)
            }
            TransferMode::SvmCoarse => Self::Shared(SvmBuffer::zeroed(queue, bytes, SvmGrain::Coarse)?),
            TransferMode::SvmFine => Self::Shared(SvmBuffer::zeroed(queue, bytes, SvmGrain::Fine)?),
        })
    }

    fn send(&mut self, queue: &Queue, from: &[u8]) -> Result<(), MemoryError> {
        match self {
            Self::Copied(buffer) => buffer.write(queue, 0, from),
            Self::Mapped(buffer) => buffer.write_mapped(queue, 0, from),
            Self::Shared(buffer) => buffer.write(queue, from),
        }
    }

    fn fetch(&mut self, queue: &Queue, into: &mut [u8]) -> Result<(), MemoryError> {
        match self {
            Self::Copied(buffer) => buffer.read(queue, 0, into),
            Self::Mapped(buffer) => buffer.read_mapped(queue, 0, into),
            Self::Shared(buffer) => buffer.read(queue, into),
        }
    }

    fn argument(&self) -> Arg<'_> {
        match self {
            Self::Copied(buffer) | Self::Mapped(buffer) => buffer.into(),
            Self::Shared(buffer) => buffer.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }
}
