//! The CPU path as an engine: operations run on a queue of their own, on memory of the host.

mod memory;
mod queue;

use std::sync::Arc;

use tripipe_kernels::Role;
use tripipe_launch::MemoryKind;

use super::{Engine, Initial, MakePlan, Rates, Ready, Storage};
use crate::cpu::{self, MultiplyAdd, Threads};
use crate::explanation::Arithmetic;
use crate::memory::{MakeZeros, Memory};
use crate::operation::{Host, Run, RunOn};
use crate::operation_queue::OperationQueue;
use crate::{Context, Error, Event};
use memory::{HostMemory, with_cells};
use queue::HostQueue;

pub(crate) use memory::Cells;
pub(crate) use queue::{done, guarded};

/// The CPU path of one context.
pub(crate) struct HostPath {
    queue: HostQueue,
    operations: Arc<OperationQueue>,
}

impl HostPath {
    pub(crate) fn new(operations: Arc<OperationQueue>) -> Arc<Self> {
        Arc::new(Self { queue: HostQueue::new(), operations })
    }
}

impl Engine for Arc<HostPath> {
    fn measure(&self, arithmetic: Arithmetic) -> Result<Rates, Error> {
        // The CPU path computes half precision in single precision, and bytes in 16 bits.
        let kind = match arithmetic {
            Arithmetic::F32 | Arithmetic::F16 => MultiplyAdd::F32,
            Arithmetic::F64 => MultiplyAdd::F64,
            Arithmetic::I8 | Arithmetic::I16 => MultiplyAdd::I16,
        };
        Ok(Rates {
            operations_per_second: cpu::multiply_add_rate(kind, Threads::All)?,
            bytes_per_second: cpu::copy_rate(Threads::All),
            launch_seconds: 0.0,
        })
    }

    fn allocate(
        &self,
        _: &MemoryKind,
        bytes: usize,
        zeros: MakeZeros,
        initial: Initial<'_>,
    ) -> Result<Box<dyn Storage>, Error> {
        let block = match initial {
            Initial::Undefined | Initial::Queued | Initial::Zeros => zeros(bytes)?,
            Initial::Copy(contents) => {
                let mut block = zeros(bytes)?;
                block.bytes_mut()[..bytes].copy_from_slice(contents);
                block
            }
            Initial::Own(block) => block,
        };
        Ok(Box::new(HostMemory::new(Arc::clone(self), bytes, block)))
    }

    fn takes_over(&self) -> bool {
        true
    }

    fn prepare(&self, _: &Context, _: MakePlan<'_>, host: &Host, _: RunOn) -> Result<Box<dyn Ready>, Error> {
        Ok(Box::new(OnHost { path: Arc::clone(self), host: host.clone() }))
    }
}

/// An operation of the CPU path.
struct OnHost {
    path: Arc<HostPath>,
    host: Host,
}

impl Ready for OnHost {
    fn can_move(&self, _: Role) -> bool {
        true
    }

    fn run(&self, run: &Run<'_>) -> Result<Event, Error> {
        let rests_on = run.rests_on();
        let cells = |memory: &Memory| Some((Arc::clone(memory.storage().cells()?), memory.bytes()));
        let (inputs, (output, bytes)) = run.each(cells)?;
        let (host, offsets) = (self.host.clone(), run.operand_offsets());
        let work = move || {
            with_cells(&inputs, (&output, bytes), |inputs, output| host.run_at(&offsets, inputs, output))
        };
        let task = self.path.queue.submit(self.host.name, self.host.small, work)?;
        if rests_on.is_empty() && task.went_well() {
            let event = Event::ended(task);
            run.result.memory.set_event(Some(event.clone()));
            return Ok(event);
        }
        Ok(run.queued(&self.path.operations, task, rests_on))
    }

    fn run_copied(&self, _: &Context, inputs: &[(Role, &[u8])], output: &mut [u8]) -> Result<(), Error> {
        done(guarded(|| self.host.run(inputs, output)))
    }
}
