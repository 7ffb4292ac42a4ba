//! What runs the operations of a context: the kernels of a device, or the CPU path.
//!
//! [`Engine`] is all that a context needs of it, [`Storage`] what memory needs, and [`Ready`] what an operation needs.
//! There is one implementation of each for [`kernels`], and one for the CPU path (`host`, feature `cpu`). Nothing outside
//! this folder depends on which one it is.

mod core;
mod ended;
#[cfg(feature = "cpu")]
pub(crate) mod host;
pub(crate) mod kernels;
mod stored;

#[cfg(feature = "cpu")]
use std::sync::Arc;

use crate::driver::memory::External;
use tripipe_device::Probe;
use tripipe_kernels::{Plan, Role};
use tripipe_launch::{Block, Executor, MemoryKind, TimeSource};

pub(crate) use self::core::Core;
pub(crate) use self::ended::CompletedSubmission;
use crate::error::Fault;
use crate::explanation::{Arithmetic, Prediction};
use crate::memory::{MakeZeros, Memory};
use crate::operation::{Host, OperationSize, Refused, Run, RunOn};
use crate::{Context, Error, Event, Pending};
#[cfg(feature = "cpu")]
use host::Cells;
use kernels::{Compilation, DeviceMemory, Trial};

/// What runs the operations of a context.
pub(crate) trait Engine: Send + Sync {
    /// The properties that the device reports; `None` for the CPU path.
    fn probe(&self) -> Option<&Probe> {
        None
    }

    /// The kernels that are being built.
    fn compilations(&self) -> Vec<Compilation> {
        Vec::new()
    }

    /// Where its times come from.
    fn time_source(&self) -> TimeSource {
        TimeSource::Measured
    }

    /// Measures its rates in a type, after all queued operations.
    ///
    /// # Errors
    /// It does not offer the type, failed, or computed something wrong.
    fn measure(&self, arithmetic: Arithmetic) -> Result<Rates, Error>;

    /// Calls `work` with what runs kernels; not at all on the CPU path.
    fn with_executor(&self, _work: &mut dyn FnMut(&mut dyn Executor)) {}

    /// Sets whether the device's own times are taken. The CPU path always takes its times, which cost nothing.
    fn take_times(&self, _take: bool) {}

    /// Memory of `bytes` bytes, of this kind if it has kinds of memory; `zeros` makes it where it is the host's.
    ///
    /// # Errors
    /// More than the device allows in one allocation; no memory left.
    fn allocate(
        &self,
        kind: &MemoryKind,
        bytes: usize,
        zeros: MakeZeros,
        initial: Initial<'_>,
    ) -> Result<Box<dyn Storage>, Error>;

    /// Whether it takes over the host's memory ([`Initial::Own`]) without a copy.
    fn takes_over(&self) -> bool {
        false
    }

    /// The first `bytes` bytes of imported memory, without a copy; `None` where memory cannot be imported.
    ///
    /// # Errors
    /// The device cannot import such memory; it is too short; the driver refuses.
    fn import(&self, _external: External, _bytes: usize) -> Result<Option<Box<dyn Storage>>, Error> {
        Ok(None)
    }

    /// Prepares an operation that `plan` does where kernels run, and `host` elsewhere.
    ///
    /// # Errors
    /// Operands that do not fit together; a kernel does not build; the device is gone.
    fn prepare(
        &self,
        context: &Context,
        plan: MakePlan<'_>,
        host: &Host,
        run_on: RunOn,
    ) -> Result<Box<dyn Ready>, Error>;

    /// Queues a plan that is not an operation of its own, and that only kernels can run.
    ///
    /// # Errors
    /// There are no kernels; a kernel does not build; otherwise as [`Ready::run`].
    fn run_plan(&self, _plan: Plan<'static>, _run: &Run<'_>) -> Result<Event, Error> {
        Err(Error::from(Fault::NoKernels))
    }
}

/// Makes the plan of an operation for a device.
pub(crate) type MakePlan<'p> = Box<dyn FnOnce(&Probe) -> Result<Plan<'static>, Refused> + 'p>;

/// The measured rates of an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) operations_per_second: f64,
    pub(crate) bytes_per_second: f64,
    /// Seconds for an empty launch; 0 on the CPU path.
    pub(crate) launch_seconds: f64,
}

/// The initial contents of memory.
pub(crate) enum Initial<'c> {
    /// Any: the memory is written before it is read.
    Undefined,
    /// Any: a write of all of it is queued next.
    Queued,
    Zeros,
    /// A copy of these bytes, as many as the memory has.
    Copy(&'c [u8]),
    /// These bytes, as many as the memory has: the memory itself where it is the host's, otherwise copied.
    Own(Block),
}

/// The bytes of a [`Memory`]. The memory has checked offsets and lengths, and that the contents may be used.
pub(crate) trait Storage: Send + Sync {
    /// The object on a device; `None` for memory of the CPU path.
    fn device(&self) -> Option<&DeviceMemory> {
        None
    }

    /// The memory of the CPU path; `None` for memory of a device.
    #[cfg(feature = "cpu")]
    fn cells(&self) -> Option<&Arc<Cells>> {
        None
    }

    /// Whether the two have imported bytes in common.
    fn overlaps(&self, _other: &dyn Storage) -> bool {
        false
    }

    /// The memory itself, if it is the host's and nothing else refers to it; it is empty afterwards.
    fn take(&mut self) -> Option<Block> {
        None
    }

    /// Copies from byte `offset` on. All queued operations have ended.
    ///
    /// # Errors
    /// The device is gone.
    fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error>;

    /// Overwrites from byte `offset` on, after all operations queued before.
    ///
    /// # Errors
    /// The device is gone.
    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Calls `look` with all bytes in place, or with a copy where the host cannot access them. All queued operations
    /// have ended. No lock of the context is held meanwhile: `look` may use the context in any way.
    ///
    /// # Errors
    /// No room for a copy; the device is gone. `look` was not called then.
    fn with(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error>;

    /// As [`Self::with`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::with`]; `edit` was called if its bytes could not be stored.
    fn with_mut(&self, edit: &mut dyn FnMut(&mut [u8])) -> Result<(), Error>;

    /// Queues a read of `memory`, whose storage this is, from byte `offset` on. The value is the filled block.
    ///
    /// # Errors
    /// The device is gone.
    fn enqueue_read(&self, memory: &Memory, offset: usize, into: Block) -> Result<Pending<Block>, Error>;

    /// Queues a write of all of `memory`, whose storage this is.
    ///
    /// # Errors
    /// The device is gone.
    fn enqueue_write(&self, memory: &Memory, from: Block) -> Result<Event, Error>;

    /// A queued copy of `memory`, whose storage this is, in the same context; `None` where only the host can copy it.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    fn duplicate(&self, _memory: &Memory) -> Result<Option<Memory>, Error> {
        Ok(None)
    }
}

/// An operation that an engine can run any number of times.
pub(crate) trait Ready: Send + Sync {
    /// Whether an operand can begin later than the plan says.
    fn can_move(&self, operand: Role) -> bool;

    /// Queues it. Its operands are complete and live in the context, and none that is read shares memory with the
    /// result.
    ///
    /// # Errors
    /// A kernel does not build; no memory left; the device is gone; for an operation that is done in the call, that it
    /// failed.
    fn run(&self, run: &Run<'_>) -> Result<Event, Error>;

    /// Runs it over the host's memory: what it reads, in any order, and what it writes. Done when it returns: on a
    /// device or on the CPU path, whichever takes less time with the copies.
    ///
    /// # Errors
    /// As [`Self::run`].
    #[cfg(feature = "cpu")]
    fn run_copied(&self, context: &Context, inputs: &[(Role, &[u8])], output: &mut [u8])
    -> Result<(), Error>;

    /// The times of runs over the host's memory; `None` before the first.
    #[cfg(feature = "cpu")]
    fn copied(&self) -> Option<String> {
        None
    }

    /// Seconds to build or load its kernels; `None` while the CPU path does it.
    fn build_seconds(&self) -> Option<f64> {
        None
    }

    /// The reason why the CPU path does it and not the requested device.
    fn fallback(&self) -> Option<String> {
        None
    }

    /// The time that a model predicts for operands of this size; `None` without a model of the device.
    fn predict(&self, _size: &OperationSize) -> Option<Prediction> {
        None
    }

    /// The times of both the device and the CPU path, if they were tried.
    fn trial(&self) -> Option<Trial> {
        None
    }
}
