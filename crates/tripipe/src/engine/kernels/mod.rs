//! The kernels of a device as an engine.

mod build;
#[cfg(feature = "cpu")]
mod copied;
#[cfg(feature = "cpu")]
mod fallback;
mod memory;
#[cfg_attr(not(feature = "opencl"), path = "no_opencl.rs")]
mod opencl;
mod operation;
mod planned;
#[cfg(feature = "virtual")]
mod predicted;
mod runner;
#[cfg_attr(not(feature = "cpu"), path = "no_trial.rs")]
mod trial;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::driver::memory::External;
use tripipe_device::Probe;
use tripipe_kernels::{Plan, PlanError};
use tripipe_launch::locks::lock;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind, ScalarType, TimeSource};

use super::{Engine, Initial, MakePlan, Rates, Ready, Storage};
use crate::explanation::Arithmetic;
use crate::memory::MakeZeros;
use crate::operation::{Host, Run, RunOn};
use crate::operation_queue::OperationQueue;
use crate::{Context, Error, Event, process};
use build::Compilations;
use operation::OnDevice;
use planned::{Bindings, Planned};

pub(crate) use build::Builds;
pub use build::Compilation;
pub(crate) use memory::DeviceMemory;
use runner::Runner;
pub(crate) use trial::Trial;

/// A device that runs kernels.
pub(crate) struct Kernels {
    probe: Probe,
    runner: Mutex<Runner>,
    queue: Arc<OperationQueue>,
    /// The bindings of all plans.
    bindings: Mutex<Vec<Weak<Mutex<Bindings>>>>,
    /// The bindings over each piece of memory.
    bound: Mutex<HashMap<MemoryId, Vec<Weak<Mutex<Bindings>>>>>,
    /// Counts the runs of plans.
    runs: AtomicU64,
    compilations: Compilations,
    time_source: TimeSource,
    #[cfg(feature = "virtual")]
    predictor: Mutex<predicted::Predictor>,
}

/// The fraction (1/16) of a device's memory that operations may retain between their runs, and the bytes that they may
/// retain in any case.
const SCRATCH_PART: u64 = 16;
const SCRATCH_BYTES: u64 = 64 << 20;

impl Kernels {
    pub(crate) fn new(executor: impl Executor + Send + 'static, queue: Arc<OperationQueue>) -> Arc<Self> {
        Arc::new(Self {
            probe: executor.probe().clone(),
            time_source: executor.time_source(),
            #[cfg(feature = "virtual")]
            predictor: Mutex::default(),
            runner: Mutex::new(Runner::new(executor)),
            queue,
            bindings: Mutex::default(),
            bound: Mutex::default(),
            runs: AtomicU64::new(0),
            compilations: Compilations::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.probe.name
    }

    /// The executor, for as long as the guard is held. Waits for the device happen without it.
    fn runner(&self) -> MutexGuard<'_, Runner> {
        lock(&self.runner)
    }

    /// The bindings of a new plan; memory that is released is removed from them.
    fn bindings(&self) -> Arc<Mutex<Bindings>> {
        let made = Arc::default();
        let mut all = lock(&self.bindings);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        made
    }

    /// Records that `bindings` are over that memory.
    fn note_bound(&self, memory: &[MemoryId], bindings: &Arc<Mutex<Bindings>>) {
        let mut bound = lock(&self.bound);
        let this = Arc::downgrade(bindings);
        for memory in memory {
            let over = bound.entry(*memory).or_default();
            if !over.iter().any(|one| one.ptr_eq(&this)) {
                over.retain(|one| one.strong_count() > 0);
                over.push(this.clone());
            }
        }
    }

    /// The number of a run that starts now.
    fn next_run(&self) -> u64 {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }

    /// Frees memory of other plans, least recently run first, until `bytes` more fit the common limit.
    fn limit_scratch(&self, executor: &mut dyn Executor, bytes: usize) {
        let limit = (self.probe.global_memory_bytes / SCRATCH_PART).max(SCRATCH_BYTES);
        self.free_scratch(executor, limit.saturating_sub(bytes as u64));
    }

    /// Frees memory of plans, least recently run first, until at most `most` bytes are left. Plans that are being run
    /// are skipped.
    fn free_scratch(&self, executor: &mut dyn Executor, most: u64) {
        let all: Vec<_> = lock(&self.bindings).iter().filter_map(Weak::upgrade).collect();
        let size = |bindings: &Arc<Mutex<Bindings>>| {
            let bindings = bindings.try_lock().ok()?;
            (bindings.scratch_bytes() > 0).then(|| (bindings.last_run(), bindings.scratch_bytes() as u64))
        };
        let mut known: Vec<_> = all.iter().filter_map(|bindings| Some((size(bindings)?, bindings))).collect();
        let mut sum = known.iter().fold(0u64, |sum, ((_, bytes), _)| sum.saturating_add(*bytes));
        known.sort_unstable_by_key(|((last_run, _), _)| *last_run);
        for ((_, bytes), bindings) in known {
            if sum <= most {
                break;
            }
            if let Ok(mut bindings) = bindings.try_lock() {
                bindings.free(executor);
                sum = sum.saturating_sub(bytes);
            }
        }
    }

    /// Frees memory; queued operations retain it until they have ended.
    fn release(&self, memory: MemoryId) {
        // Bindings are locked before the executor, and only one at a time.
        let all = lock(&self.bound).remove(&memory).unwrap_or_default();
        for bindings in all.iter().filter_map(Weak::upgrade) {
            lock(&bindings).forget(memory, self);
        }
        // A device that is gone has freed everything.
        let _ = self.runner().executor().release(memory);
    }

    /// Waits until all queued operations have ended, and frees what operations retain between their runs.
    fn make_room(&self) {
        // Queued operations retain their memory until they have ended.
        let _ = self.queue.settle();
        self.free_scratch(self.runner().executor(), 0);
    }

    /// Allocates memory; when none is left, makes room and tries again.
    fn with_room(
        &self,
        make: impl Fn(&mut dyn Executor) -> Result<MemoryId, ExecuteError>,
    ) -> Result<MemoryId, ExecuteError> {
        let made = make(self.runner().executor());
        if !matches!(made, Err(ExecuteError::OutOfMemory { .. })) {
            return made;
        }
        let _ = self.queue.settle();
        let mut runner = self.runner();
        self.free_scratch(runner.executor(), 0);
        make(runner.executor())
    }
}

impl Engine for Arc<Kernels> {
    fn probe(&self) -> Option<&Probe> {
        Some(&self.probe)
    }

    fn compilations(&self) -> Vec<Compilation> {
        self.compilations.list()
    }

    fn time_source(&self) -> TimeSource {
        self.time_source
    }

    fn measure(&self, arithmetic: Arithmetic) -> Result<Rates, Error> {
        process::check()?;
        let element = match arithmetic {
            Arithmetic::F32 => ScalarType::F32,
            Arithmetic::F64 => ScalarType::F64,
            Arithmetic::F16 => ScalarType::F16,
            Arithmetic::I8 | Arithmetic::I16 => ScalarType::U8,
        };
        let mut runner = self.runner();
        let launch_seconds = tripipe_kernels::ceilings::launch_seconds(runner.executor())?;
        let found = tripipe_kernels::ceilings::measure(runner.executor(), element)?;
        Ok(Rates {
            operations_per_second: found.operations_per_second,
            bytes_per_second: found.bytes_per_second,
            launch_seconds,
        })
    }

    fn with_executor(&self, work: &mut dyn FnMut(&mut dyn Executor)) {
        work(self.runner().executor());
    }

    fn take_times(&self, take: bool) {
        self.runner().executor().take_times(take);
    }

    fn allocate(
        &self,
        kind: &MemoryKind,
        bytes: usize,
        _: MakeZeros,
        initial: Initial<'_>,
    ) -> Result<Box<dyn Storage>, Error> {
        process::check()?;
        let limit = self.probe.max_buffer_bytes;
        if limit != 0 && bytes as u64 > limit && !matches!(initial, Initial::Undefined) {
            return Err(PlanError::OverLimit { what: format!("memory of {bytes} bytes"), limit }.into());
        }
        let id = self.with_room(|executor| match &initial {
            Initial::Undefined | Initial::Queued => executor.allocate(kind, Access::ReadWrite, None),
            Initial::Zeros => executor.allocate_zeros(kind, Access::ReadWrite),
            Initial::Copy(contents) => executor.allocate(kind, Access::ReadWrite, Some(contents)),
            Initial::Own(block) => executor.allocate(kind, Access::ReadWrite, Some(block.bytes())),
        })?;
        Ok(Box::new(DeviceMemory::new(Arc::clone(self), id, bytes, None)))
    }

    fn import(&self, external: External, bytes: usize) -> Result<Option<Box<dyn Storage>>, Error> {
        process::check()?;
        let imported = self.runner().import(external, bytes)?;
        Ok(imported.map(|(id, imported)| -> Box<dyn Storage> {
            Box::new(DeviceMemory::new(Arc::clone(self), id, bytes, Some(imported)))
        }))
    }

    fn prepare(
        &self,
        context: &Context,
        plan: MakePlan<'_>,
        host: &Host,
        run_on: RunOn,
    ) -> Result<Box<dyn Ready>, Error> {
        process::check()?;
        Ok(Box::new(OnDevice::new(self, context, plan(&self.probe), host, run_on)?))
    }

    fn run_plan(&self, plan: Plan<'static>, run: &Run<'_>) -> Result<Event, Error> {
        process::check()?;
        Planned::new(self, plan)?.submit(run)
    }
}
