//! A plan whose kernels are built, and its bindings to memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tripipe_kernels::plan::{Bound, Scratch};
use tripipe_kernels::{Plan, Role};
use tripipe_launch::locks::lock;
use tripipe_launch::{ExecuteError, Executor, MemoryId, Prepared, Submission};

use super::Kernels;
use crate::operation::Run;
use crate::operation_queue::Outcome;
use crate::{Error, ErrorKind, Event};

/// The number of operand sets for which an operation caches its launches.
const REMEMBERED: usize = 8;

/// A plan whose kernels are built, to be run over any operands.
pub(super) struct Planned {
    kernels: Arc<Kernels>,
    plan: Plan<'static>,
    bindings: Arc<Mutex<Bindings>>,
    /// Seconds to build or load the kernels, on this thread and on another.
    build_seconds: f64,
}

/// The plan's own memory, allocated on the first run, and the latest sets of operands.
#[derive(Default)]
pub(super) struct Bindings {
    scratch: Option<Scratch>,
    scratch_bytes: usize,
    /// The number of the latest run.
    last_run: u64,
    /// Oldest first.
    bound: VecDeque<Binding>,
}

/// The memory of the operands, and where they begin there.
#[derive(Clone, PartialEq)]
struct BoundMemory {
    operands: Vec<(Role, MemoryId)>,
    /// The number of elements that operands begin later than the plan says; those that do not are left out.
    offsets: Vec<(Role, u32)>,
}

/// The launches over one set of operands.
struct Binding {
    memory: BoundMemory,
    bound: Bound,
    launches: Prepared,
    /// The outcome of the preparation that precedes the step.
    prepared: Option<Arc<Outcome>>,
}

impl Bindings {
    /// The launches over this memory, prepared now if they are not cached; and whether they were not.
    fn find_or_bind(
        &mut self,
        kernels: &Kernels,
        executor: &mut dyn Executor,
        plan: &Plan<'static>,
        memory: BoundMemory,
        note: impl FnOnce(Box<dyn Submission>) -> Arc<Outcome>,
    ) -> Result<(&Binding, bool), ExecuteError> {
        self.last_run = kernels.next_run();
        let known = self.bound.iter().position(|binding| binding.memory == memory);
        let place = if let Some(place) = known {
            place
        } else {
            if self.bound.len() == REMEMBERED
                && let Some(oldest) = self.bound.pop_front()
            {
                oldest.bound.release(executor);
            }
            let scratch = if let Some(scratch) = self.scratch.take() {
                scratch
            } else {
                kernels.limit_scratch(executor, plan.scratch_bytes());
                plan.make_scratch(executor)?
            };
            self.scratch_bytes = plan.scratch_bytes();
            let scratch = self.scratch.insert(scratch);
            self.bound.push_back(Binding::new(executor, plan, memory, scratch, note)?);
            self.bound.len() - 1
        };
        Ok((&self.bound[place], known.is_none()))
    }

    /// Bytes that the plan retains besides its operands.
    pub(super) fn scratch_bytes(&self) -> usize {
        if self.scratch.is_some() { self.scratch_bytes } else { 0 }
    }

    /// The number of the latest run.
    pub(super) fn last_run(&self) -> u64 {
        self.last_run
    }

    /// Frees the plan's own memory, and removes all operands.
    pub(super) fn free(&mut self, executor: &mut dyn Executor) {
        for binding in self.bound.drain(..) {
            binding.bound.release(executor);
        }
        if let Some(scratch) = self.scratch.take() {
            scratch.release(executor);
        }
    }

    /// Removes the launches over that memory, which they would keep alive.
    pub(super) fn forget(&mut self, memory: MemoryId, kernels: &Kernels) {
        while let Some(place) = self.bound.iter().position(|binding| binding.is_over(memory)) {
            if let Some(binding) = self.bound.remove(place) {
                binding.bound.release(kernels.runner().executor());
            }
        }
    }
}

impl Binding {
    fn is_over(&self, memory: MemoryId) -> bool {
        self.memory.operands.iter().any(|(_, operand)| *operand == memory)
    }

    /// Also queues the preparation that precedes the step, which is passed to `note`.
    fn new(
        executor: &mut dyn Executor,
        plan: &Plan<'static>,
        memory: BoundMemory,
        scratch: &Scratch,
        note: impl FnOnce(Box<dyn Submission>) -> Arc<Outcome>,
    ) -> Result<Self, ExecuteError> {
        let bound = plan.bind_at(executor, &memory.operands, &memory.offsets, scratch)?;
        let mut prepare = || {
            let mut prepared = None;
            if !bound.preparation.is_empty() {
                prepared = Some(executor.submit(&bound.preparation)?);
            }
            Ok((prepared, executor.prepare_launches(&bound.launches)?))
        };
        match prepare() {
            Ok((prepared, launches)) => Ok(Self { memory, bound, launches, prepared: prepared.map(note) }),
            Err(error) => {
                bound.release(executor);
                Err(error)
            }
        }
    }
}

impl Planned {
    /// Builds the kernels of `plan`; nothing else.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    pub(super) fn new(kernels: &Arc<Kernels>, plan: Plan<'static>) -> Result<Self, Error> {
        let start = Instant::now();
        {
            let _compiling = kernels.compilations.begin(&plan);
            let mut runner = kernels.runner();
            for launch in plan.preparation().iter().chain(plan.launches()) {
                runner.executor().prepare(&launch.program, &launch.entry)?;
            }
        }
        let build_seconds = start.elapsed().as_secs_f64();
        Ok(Self { kernels: Arc::clone(kernels), plan, bindings: kernels.bindings(), build_seconds })
    }

    pub(super) fn plan(&self) -> &Plan<'static> {
        &self.plan
    }

    /// Seconds to build or load its kernels.
    pub(super) fn build_seconds(&self) -> f64 {
        self.build_seconds
    }

    /// Adds the seconds that another thread took to build its kernels.
    pub(super) fn built_beside(mut self, seconds: f64) -> Self {
        self.build_seconds += seconds;
        self
    }

    /// Queues the launches over the operands; the first run over each set of operands also queues the preparation that
    /// precedes the step.
    ///
    /// # Errors
    /// No memory left for the plan; the launches do not fit the device; the device is gone.
    pub(super) fn submit(&self, run: &Run<'_>) -> Result<Event, Error> {
        match self.try_submit(run) {
            // When no memory is left, tries once more with what can be freed.
            Err(error) if error.kind() == ErrorKind::OutOfMemory => {
                self.kernels.make_room();
                self.try_submit(run)
            }
            submitted => submitted,
        }
    }

    fn try_submit(&self, run: &Run<'_>) -> Result<Event, Error> {
        let Self { kernels, plan, .. } = self;
        let (mut ids, result) = run.each(|memory| memory.storage().device()?.id_on(kernels))?;
        ids.push(result);
        let operands = run.operands().zip(&ids).map(|(placed, id)| (placed.role, *id)).collect();
        let offsets = run.operands().map(|placed| (placed.role, placed.offset.elements));
        let memory =
            BoundMemory { operands, offsets: offsets.filter(|(_, elements)| *elements > 0).collect() };
        let mut bindings = lock(&self.bindings);
        let mut runner = kernels.runner();
        let mut rests_on = run.rests_on();
        let note = |submission: Box<dyn Submission>| {
            kernels.queue.add(run.operation, &Arc::from(submission), rests_on.clone())
        };
        let (binding, is_new) = bindings.find_or_bind(kernels, runner.executor(), plan, memory, note)?;
        if is_new {
            kernels.note_bound(&ids, &self.bindings);
        }
        rests_on.extend(binding.prepared.iter().filter(|prepared| !prepared.is_good()).cloned());
        let submission = runner.executor().submit_prepared(&binding.launches)?;
        // The executor is still locked: what is submitted last is the last in the queue.
        Ok(run.queued(&kernels.queue, Arc::from(submission), rests_on))
    }

    /// Removes the operands it was run over, and frees its own memory.
    pub(super) fn forget(&self) {
        let mut bindings = lock(&self.bindings);
        bindings.free(self.kernels.runner().executor());
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        self.forget();
    }
}
