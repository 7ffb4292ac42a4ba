//! The CPU path on a device's memory: a fallback for what the device lacks, for kernels that are being built, and where
//! it is faster.

use std::sync::Arc;
use std::time::Instant;

use tripipe_launch::MemoryId;

use super::Kernels;
use crate::engine::CompletedSubmission;
use crate::engine::host::{done, guarded};
use crate::memory::Memory;
use crate::operation::{Host, Run};
use crate::{Error, Event};

/// Runs an operation on the CPU path instead of a device. Done when it returns.
///
/// # Errors
/// As [`on_host`]; an operation that it depends on failed.
pub(super) fn fall_back(kernels: &Arc<Kernels>, run: &Run<'_>, host: &Host) -> Result<Event, Error> {
    kernels.queue.settle()?;
    run.read().try_for_each(Memory::check_contents)?;
    let start = Instant::now();
    on_host(kernels, run, host)?;
    let event = Event::ended(Arc::new(CompletedSubmission::begun(start)));
    run.result.memory.set_event(Some(event.clone()));
    Ok(event)
}

/// An operation on the CPU path over the device's memory, in place or on copies where the host cannot access it, after
/// all queued operations. Done when it returns.
///
/// # Errors
/// The device is gone; no room for a copy; the operation failed.
pub(super) fn on_host(kernels: &Arc<Kernels>, run: &Run<'_>, host: &Host) -> Result<(), Error> {
    let _span = tripipe_trace::span("CPU path", || format!("{} on the CPU path", run.operation));
    kernels.queue.settle()?;
    let object = |memory: &Memory| -> Option<(MemoryId, usize)> {
        Some((memory.storage().device()?.id_on(kernels)?, memory.bytes()))
    };
    let (objects, output) = run.each(object)?;
    let offsets = run.operand_offsets();
    let mut outcome = Ok(());
    kernels.runner().executor().with_all_bytes(&objects, output, &mut |inputs, output| {
        outcome = guarded(|| host.run_at(&offsets, inputs, output));
    })?;
    done(outcome)
}
