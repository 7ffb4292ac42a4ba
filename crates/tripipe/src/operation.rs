//! Operations that are ready to run: a plan on a context's executor, or a function of the CPU path.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::plan::{Bound, Scratch};
use tripipe_kernels::{Plan, PlanError};
use tripipe_launch::{ExecuteError, Executor, MemoryId, Prepared, Submission, Timing};

use crate::background::Build;
use crate::context::{Core, Engine, Kernels};
use crate::cpu::{CpuError, Threads};
use crate::explanation::{Arithmetic, Explanation, Prediction, RunnerUp};
use crate::host_queue::{HostError, HostTask, guarded};
use crate::line::Outcome;
use crate::memory::{Cells, Memory, with_cells, with_memories};
use crate::pending::Pending;
use crate::pool::on_pool;
use crate::trial::{Size, Trial};
use crate::{Context, Error};

/// The number of operand sets for which an operation caches its launches.
const REMEMBERED: usize = 8;

/// A plan whose kernels are built, to be run over any operands.
pub(crate) struct Planned {
    core: Arc<Core>,
    plan: Plan<'static>,
    bindings: Arc<Mutex<Bindings>>,
    /// Seconds to build or load the kernels, on this thread and on another.
    build_seconds: f64,
}

/// The plan's own memory, allocated on the first run, and the latest sets of operands.
#[derive(Default)]
pub(crate) struct Bindings {
    scratch: Option<Scratch>,
    scratch_bytes: usize,
    /// The number of the latest run.
    last_run: u64,
    /// Oldest first.
    bound: VecDeque<Binding>,
}

/// The launches over one set of operands.
struct Binding {
    operands: Vec<MemoryId>,
    /// The number of elements that each operand begins later than the plan says.
    later: Vec<u32>,
    bound: Bound,
    launches: Prepared,
    /// The outcome of the preparation that precedes the step.
    prepared: Option<Arc<Outcome>>,
}

/// One run of an operation.
pub(crate) struct Run<'r> {
    /// The name of the operation, for errors.
    pub(crate) operation: &'static str,
    /// Its operands, in the plan's order.
    pub(crate) memories: &'r [&'r Memory],
    /// The number of elements that each operand begins later than the plan says; empty when none does.
    pub(crate) later: &'r [u32],
    /// The index of the operand that is written.
    pub(crate) result: usize,
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
}

impl Run<'_> {
    /// Whether nothing of the result's old contents remains.
    fn overwrites(&self) -> bool {
        self.memories[self.result].bytes() == self.written
    }

    /// The operands whose contents are read.
    fn read(&self) -> impl Iterator<Item = &Memory> {
        let overwrites = self.overwrites();
        let memories = self.memories.iter().enumerate();
        memories.filter(move |(index, _)| *index != self.result || !overwrites).map(|(_, memory)| *memory)
    }

    /// The outcomes of the operations that it depends on.
    fn rests_on(&self) -> Vec<Arc<Outcome>> {
        self.read().filter_map(Memory::rests_on).collect()
    }

    /// Records that it was queued, and returns it as a pending operation.
    fn queued(&self, core: &Core, submission: Arc<dyn Submission>, rests_on: Vec<Arc<Outcome>>) -> Pending {
        let outcome = core.line().add(self.operation, &submission, rests_on);
        self.memories[self.result].rest_on(Some(Arc::clone(&outcome)));
        Pending::queued(submission, core.line(), &outcome)
    }
}

impl Bindings {
    /// The launches over `operands`, prepared now if they are not cached; and whether they were not.
    fn find_or_bind(
        &mut self,
        kernels: &Kernels,
        executor: &mut dyn Executor,
        plan: &Plan<'static>,
        (operands, later): (Vec<MemoryId>, &[u32]),
        note: impl FnOnce(Box<dyn Submission>) -> Arc<Outcome>,
    ) -> Result<(&Binding, bool), ExecuteError> {
        self.last_run = kernels.next_run();
        let is = |binding: &Binding| binding.operands == operands && binding.later == later;
        let known = self.bound.iter().position(is);
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
            self.bound.push_back(Binding::new(executor, plan, (operands, later), scratch, note)?);
            self.bound.len() - 1
        };
        Ok((&self.bound[place], known.is_none()))
    }

    /// Bytes that the plan retains besides its operands.
    pub(crate) fn scratch_bytes(&self) -> usize {
        if self.scratch.is_some() { self.scratch_bytes } else { 0 }
    }

    /// The number of the latest run.
    pub(crate) fn last_run(&self) -> u64 {
        self.last_run
    }

    /// Frees the plan's own memory, and removes all operands.
    pub(crate) fn free(&mut self, executor: &mut dyn Executor) {
        for binding in self.bound.drain(..) {
            binding.bound.release(executor);
        }
        if let Some(scratch) = self.scratch.take() {
            scratch.release(executor);
        }
    }

    /// Removes the launches over that memory, which they would keep alive.
    pub(crate) fn forget(&mut self, memory: MemoryId, kernels: &Kernels) {
        while let Some(place) = self.bound.iter().position(|binding| binding.operands.contains(&memory)) {
            if let Some(binding) = self.bound.remove(place) {
                binding.bound.release(&mut **kernels.executor());
            }
        }
    }
}

impl Binding {
    /// Also queues the preparation that precedes the step, which is passed to `note`.
    fn new(
        executor: &mut dyn Executor,
        plan: &Plan<'static>,
        (operands, later): (Vec<MemoryId>, &[u32]),
        scratch: &Scratch,
        note: impl FnOnce(Box<dyn Submission>) -> Arc<Outcome>,
    ) -> Result<Self, ExecuteError> {
        let bound = plan.bind_at(executor, &operands, later, scratch)?;
        let mut prepare = || {
            let mut prepared = None;
            if !bound.preparation.is_empty() {
                prepared = Some(executor.submit(&bound.preparation)?);
            }
            Ok((prepared, executor.prepare_launches(&bound.launches)?))
        };
        match prepare() {
            Ok((prepared, launches)) => {
                let later = later.to_vec();
                Ok(Self { operands, later, bound, launches, prepared: prepared.map(note) })
            }
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
    pub(crate) fn new(core: &Arc<Core>, kernels: &Kernels, plan: Plan<'static>) -> Result<Self, Error> {
        let start = Instant::now();
        {
            let mut executor = kernels.executor();
            for launch in plan.preparation().iter().chain(plan.launches()) {
                executor.prepare(&launch.program, &launch.entry)?;
            }
        }
        let build_seconds = start.elapsed().as_secs_f64();
        Ok(Self { core: Arc::clone(core), plan, bindings: kernels.bindings(), build_seconds })
    }

    /// Adds the seconds that another thread took to build its kernels.
    pub(crate) fn built_beside(mut self, seconds: f64) -> Self {
        self.build_seconds += seconds;
        self
    }

    /// Queues the launches over `operands`, in the plan's order; the first run over each set of operands also queues
    /// the preparation that precedes the step.
    ///
    /// # Errors
    /// No memory left for the plan; the launches do not fit the device; the device is gone.
    pub(crate) fn submit(&self, kernels: &Kernels, run: &Run<'_>) -> Result<Pending, Error> {
        match self.try_submit(kernels, run) {
            // When no memory is left, tries once more after all queued operations have ended and everything not needed
            // now is freed.
            Err(Error::Execute(ExecuteError::OutOfMemory { .. })) => {
                self.core.settle();
                kernels.free_scratch(&mut **kernels.executor(), 0);
                self.try_submit(kernels, run)
            }
            submitted => submitted,
        }
    }

    fn try_submit(&self, kernels: &Kernels, run: &Run<'_>) -> Result<Pending, Error> {
        let ids: Vec<MemoryId> = run.memories.iter().filter_map(|memory| memory.id()).collect();
        let mut bindings = lock(&self.bindings);
        let mut executor = kernels.executor();
        let mut rests_on = run.rests_on();
        let note = |submission: Box<dyn Submission>| {
            self.core.line().add(run.operation, &Arc::from(submission), rests_on.clone())
        };
        let operands = (ids.clone(), run.later);
        let (binding, is_new) =
            bindings.find_or_bind(kernels, &mut **executor, &self.plan, operands, note)?;
        if is_new {
            kernels.note_bound(&ids, &self.bindings);
        }
        rests_on.extend(binding.prepared.iter().filter(|prepared| !prepared.is_good()).cloned());
        let submission = executor.submit_prepared(&binding.launches)?;
        // The executor is still locked: what is queued last is the last in line.
        Ok(run.queued(&self.core, Arc::from(submission), rests_on))
    }

    /// Removes the operands it was run over, and frees its own memory.
    pub(crate) fn forget(&self, kernels: &Kernels) {
        let mut bindings = lock(&self.bindings);
        bindings.free(&mut **kernels.executor());
    }
}

impl Drop for Planned {
    fn drop(&mut self) {
        if let Engine::Kernels(kernels) = self.core.engine() {
            self.forget(kernels);
        }
    }
}

/// An operation on one context, which can be run any number of times.
pub(crate) struct Operation {
    core: Arc<Core>,
    /// The name of the operation, for errors.
    name: &'static str,
    way: Way,
    host: Host,
    /// The times of both the device and the CPU path, if they were tried.
    trial: Option<Trial>,
    /// The latest runs, and the shortest time of those before.
    runs: Mutex<Runs>,
    /// Seconds from the first call to its end.
    first: Arc<OnceLock<f64>>,
}

/// The implementation on the CPU path, as a fallback for a device or on its own.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) work: HostWork,
    /// Whether it takes so little time that no other thread need be woken for it.
    pub(crate) small: bool,
    pub(crate) size: Size,
}

impl Host {
    /// As [`Self::run`], with operands that begin later.
    fn run_later(&self, inputs: &[&[u8]], output: &mut [u8], later: &[Later]) -> Result<(), CpuError> {
        let by = |index: usize| later.get(index).map_or(0, |later| later.bytes);
        if later.iter().all(|later| later.bytes == 0) {
            return self.run(inputs, output);
        }
        let result = self.size.result;
        let places = (0..).filter(|index| *index != result);
        let inputs: Vec<&[u8]> = inputs
            .iter()
            .zip(places)
            .map(|(input, index)| input.get(by(index)..).unwrap_or_default())
            .collect();
        self.run(&inputs, output.get_mut(by(result)..).unwrap_or_default())
    }

    /// Runs it: reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// Slices that are too short.
    pub(crate) fn run(&self, inputs: &[&[u8]], output: &mut [u8]) -> Result<(), CpuError> {
        if self.small {
            (self.work)(inputs, output, Threads::One)
        } else {
            on_pool(|| (self.work)(inputs, output, Threads::All))
        }
    }
}

/// How much later an operand begins than an operation was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Later {
    pub(crate) elements: u32,
    pub(crate) bytes: usize,
}

/// Operands are moved by a multiple of this number of elements, the widest vector of all kernels, so that everything
/// that depends on alignment stays the same.
const STEP: usize = 16;

impl Later {
    /// Whether every operand that begins later is allowed to.
    fn fit(later: &[Self], can_move: impl Fn(usize) -> bool) -> bool {
        later.iter().enumerate().all(|(operand, later)| later.elements == 0 || can_move(operand))
    }

    /// Subtracts a multiple of [`STEP`] from the offset of an operand, and returns it.
    pub(crate) fn off(offset: &mut usize, element_bytes: usize) -> Self {
        let elements = u32::try_from(*offset - *offset % STEP).unwrap_or_default();
        *offset -= elements as usize;
        Self { elements, bytes: (elements as usize).saturating_mul(element_bytes) }
    }
}

/// Whether the device or the CPU path runs an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Doer {
    /// The CPU path where it is faster, and until kernels are built that the context builds in the background.
    Fastest,
    /// Likewise; which one is faster was tried with an operation of the same cost.
    AsTried(Trial),
    /// The device, unless it lacks a feature.
    Device,
}

/// The path on which an operation runs.
enum Way {
    /// The CPU path, on its own memory.
    Host,
    /// The CPU path, on the device's memory.
    Fallback(String),
    /// The device.
    Kernels(Planned),
    /// The CPU path on the device's memory, then the device once the kernels are built.
    Later(Build),
}

/// The reason why there is no plan for an operation.
pub(crate) enum Refused {
    /// The device lacks a feature; the CPU path does not.
    Lacks(String),
    /// It is invalid on any device.
    Wrong(Error),
}

impl From<PlanError> for Refused {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::NotOffered { .. } | PlanError::OverLimit { .. } => Self::Lacks(error.to_string()),
            _ => Self::Wrong(error.into()),
        }
    }
}

/// The operation on the CPU path: the inputs, in order, the output, and how many threads it may use.
pub(crate) type HostWork = Arc<dyn Fn(&[&[u8]], &mut [u8], Threads) -> Result<(), CpuError> + Send + Sync>;

/// The number of latest runs that an operation tracks.
const LATEST: usize = 4;

#[derive(Default)]
struct Runs {
    /// Whether the operation has run.
    begun: bool,
    latest: VecDeque<Arc<dyn Submission>>,
    shortest: Option<f64>,
    /// The number of runs that the time is the shortest of.
    measured: u64,
}

impl Runs {
    fn add(&mut self, submission: &Arc<dyn Submission>) {
        if self.latest.len() == LATEST {
            self.look_at_oldest();
        }
        self.latest.push_back(Arc::clone(submission));
    }

    fn look_at_oldest(&mut self) {
        if let Some(oldest) = self.latest.pop_front()
            && oldest.is_done()
            && let Ok(timings) = oldest.timings()
        {
            let seconds = Timing::span_seconds(&timings);
            self.shortest = Some(self.shortest.map_or(seconds, |shortest| shortest.min(seconds)));
            self.measured += 1;
        }
    }
}

impl Operation {
    /// An operation that `plan` does where kernels run, and `host` elsewhere: on the CPU path, where a device lacks
    /// what the plan needs, and where `doer` leaves it to the CPU path.
    ///
    /// # Errors
    /// Operands that do not fit together; a kernel does not build; the device is gone.
    pub(crate) fn new(
        context: &Context,
        name: &'static str,
        plan: impl FnOnce(&Probe) -> Result<Plan<'static>, Refused>,
        host: Host,
        doer: Doer,
    ) -> Result<Self, Error> {
        let core = context.core();
        let mut trial = None;
        let way = match context.engine() {
            Engine::Host(_) => Way::Host,
            Engine::Kernels(kernels) => match plan(&kernels.probe) {
                Ok(plan) => {
                    let builds = core.builds().filter(|_| doer != Doer::Device);
                    if let Some(later) = builds.and_then(|builds| Build::begin(builds, kernels, &plan)) {
                        Way::Later(later)
                    } else {
                        let planned = Planned::new(core, kernels, plan)?;
                        trial = match doer {
                            Doer::Fastest if core.falls_back_when_slower() => {
                                Trial::of(context, kernels, &planned, &host)
                            }
                            Doer::AsTried(trial) if core.falls_back_when_slower() => Some(trial),
                            _ => None,
                        };
                        match trial {
                            Some(trial) if trial.is_the_hosts() => Way::Fallback(trial.to_string()),
                            _ => Way::Kernels(planned),
                        }
                    }
                }
                Err(Refused::Lacks(what)) => Way::Fallback(what),
                Err(Refused::Wrong(error)) => return Err(error),
            },
        };
        let core = Arc::clone(core);
        Ok(Self { core, name, way, host, trial, runs: Mutex::default(), first: Arc::default() })
    }

    /// Whether the operands can begin later by this much than the plan says, on a device and on the CPU path.
    pub(crate) fn can_move(&self, later: &[Later]) -> bool {
        match &self.way {
            Way::Kernels(planned) => Later::fit(later, |operand| planned.plan.can_move(operand)),
            Way::Later(build) => Later::fit(later, |operand| build.can_move(operand)),
            Way::Host | Way::Fallback(_) => true,
        }
    }

    /// Queues it over `operands`, in the plan's order, which begin `later` than the plan says; an empty `later` means
    /// none does.
    ///
    /// # Errors
    /// An operand in another context, or one that shares memory with the result; no memory left for the plan; the
    /// device is gone.
    pub(crate) fn run(
        &self,
        operands: &[(&'static str, &Memory)],
        later: &[Later],
    ) -> Result<Pending, Error> {
        let begun = Instant::now();
        let Size { result, written, .. } = self.host.size;
        check_operands(&self.core, operands, result)?;
        let memories: Vec<&Memory> = operands.iter().map(|(_, memory)| *memory).collect();
        let elements: Vec<u32> = later.iter().map(|later| later.elements).collect();
        let run = Run { operation: self.name, memories: &memories, later: &elements, result, written };
        let pending = match (self.planned()?, self.core.engine()) {
            (Some(planned), Engine::Kernels(kernels)) => planned.submit(kernels, &run)?,
            (None, Engine::Host(queue)) => {
                let rests_on = run.rests_on();
                let with_bytes = |memory: &&Memory| Some((memory.cells().cloned()?, memory.bytes()));
                let mut cells: Vec<(Arc<Cells>, usize)> = memories.iter().filter_map(with_bytes).collect();
                let (output, bytes) = cells.remove(result);
                let (host, later) = (self.host.clone(), later.to_vec());
                let work = move || {
                    with_cells(&cells, (&output, bytes), |inputs, output| {
                        host.run_later(inputs, output, &later)
                    })
                };
                let task = queue.submit(self.host.small, work);
                if rests_on.is_empty() && task.went_well() {
                    memories[result].rest_on(None);
                    Pending::ended(task)
                } else {
                    run.queued(&self.core, task, rests_on)
                }
            }
            _ => {
                self.core.settle();
                run.read().try_for_each(Memory::check_contents)?;
                let start = Instant::now();
                on_host(&self.core, &memories, &self.host, later)?;
                if run.overwrites() {
                    memories[result].rest_on(None);
                }
                Pending::ended(Arc::new(HostTask::over(start)))
            }
        };
        let mut runs = lock(&self.runs);
        if !runs.begun {
            runs.begun = true;
            let first = Arc::clone(&self.first);
            pending.submission().on_done(Box::new(move || {
                first.get_or_init(|| begun.elapsed().as_secs_f64());
            }));
        }
        runs.add(pending.submission());
        Ok(pending)
    }

    /// Runs it on the CPU path, over slices: the inputs, in order, and the output. Done when it returns.
    ///
    /// # Errors
    /// Slices that are too short.
    pub(crate) fn run_here(&self, inputs: &[&[u8]], output: &mut [u8]) -> Result<(), Error> {
        done(guarded(|| self.host.run(inputs, output)))
    }

    /// The plan, if kernels do the operation by now.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    fn planned(&self) -> Result<Option<&Planned>, Error> {
        match (&self.way, self.core.engine()) {
            (Way::Kernels(planned), _) => Ok(Some(planned)),
            (Way::Later(later), Engine::Kernels(kernels)) => later.planned(&self.core, kernels, || {
                // Those runs were on the CPU path.
                *lock(&self.runs) = Runs::default();
            }),
            _ => Ok(None),
        }
    }

    /// What runs the operation, and how long that took; `operation` is the description.
    pub(crate) fn explanation(&self, operation: String) -> Explanation {
        let (measured_seconds, measured_runs) = self.measured();
        Explanation {
            operation,
            device: self.core.name().to_owned(),
            fallback: self.fallback(),
            measured_seconds,
            measured_runs,
            build_seconds: self.build_seconds(),
            first_call_seconds: self.first.get().copied(),
            ..Explanation::default()
        }
    }

    /// Adds the ceiling that bounds it, if one is known for the device that does it, and predicts the time at that
    /// ceiling unless a longer time is predicted: a rate that a large operation reached says nothing about a small one.
    pub(crate) fn add_bound(&self, explanation: &mut Explanation, arithmetic: Arithmetic, bytes: f64) {
        // The ceilings are the device's, and say nothing about the CPU path as a fallback.
        let ceilings = self.core.ceilings(arithmetic).filter(|_| explanation.fallback.is_none());
        let Some(ceilings) = ceilings else { return };
        let bound = ceilings.bound(self.host.size.operations, bytes);
        if explanation.predicted.as_ref().is_none_or(|predicted| predicted.seconds < bound.seconds) {
            let from = format!("{} alone, everything else at no cost", bound.ceiling);
            explanation.predicted = Some(Prediction { seconds: bound.seconds, from });
        }
        explanation.bound = Some(bound);
    }

    /// The reason why the CPU path does it and not the requested device.
    fn fallback(&self) -> Option<String> {
        match (&self.way, self.planned()) {
            (Way::Fallback(reason), _) => Some(reason.clone()),
            (Way::Later(_), Ok(None)) => Some("its kernels are being built".to_owned()),
            (_, Err(error)) => Some(error.to_string()),
            _ => None,
        }
    }

    /// The trial, which an operation of the same cost need not repeat.
    pub(crate) fn trial(&self) -> Option<Trial> {
        self.trial
    }

    /// The alternative that was tried and not taken; `kernel` is the device's.
    pub(crate) fn runner_up(&self, kernel: &str) -> Option<RunnerUp> {
        self.trial.map(|trial| trial.runner_up(&self.core, kernel))
    }

    /// Whether kernels do it.
    pub(crate) fn runs_kernels(&self) -> bool {
        self.planned().is_ok_and(|planned| planned.is_some())
    }

    /// Seconds to build or load its kernels; `None` before they are built.
    fn build_seconds(&self) -> Option<f64> {
        Some(self.planned().ok()??.build_seconds)
    }

    /// The shortest time of the runs that have ended, and their number.
    fn measured(&self) -> (Option<f64>, u64) {
        let mut runs = lock(&self.runs);
        while runs.latest.front().is_some_and(|oldest| oldest.is_done()) {
            runs.look_at_oldest();
        }
        (runs.shortest, runs.measured)
    }

    /// The total size of its operands in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.host.size.operands.iter().sum()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }
}

/// An operation on the CPU path over the device's memory, after all queued operations. Done when it returns.
///
/// # Errors
/// The device is gone; no room for a copy of memory that the host cannot access.
pub(crate) fn on_host(core: &Core, memories: &[&Memory], host: &Host, later: &[Later]) -> Result<(), Error> {
    let work = |inputs: &[&[u8]], output: &mut [u8]| guarded(|| host.run_later(inputs, output, later));
    done(with_memories(core, memories, host.size.result, work)?)
}

/// The result of work that the CPU path did in the call.
fn done(outcome: Result<(), HostError>) -> Result<(), Error> {
    match outcome {
        Err(HostError::Cpu(error)) => Err(error.into()),
        outcome => Ok(outcome.map_err(ExecuteError::from)?),
    }
}

/// Checks that all operands live in the context of `core`, that none shares bytes with the result, and that none is
/// mapped in a conflicting way.
fn check_operands(core: &Core, operands: &[(&'static str, &Memory)], result: usize) -> Result<(), Error> {
    for (operand, memory) in operands {
        let of = memory.context().core();
        if !std::ptr::eq(&raw const **of, core) {
            let [want, found] = [core, of].map(|core| core.name().to_owned());
            return Err(Error::OtherContext { operand, want, found });
        }
    }
    let shared = |(index, (_, memory)): &(usize, &(&'static str, &Memory))| {
        *index != result && memory.overlaps(operands[result].1)
    };
    match operands.iter().enumerate().find(shared) {
        Some((_, (operand, _))) => Err(Error::Aliased { operand }),
        None => operands
            .iter()
            .enumerate()
            .try_for_each(|(index, (operand, memory))| memory.check_free(operand, index == result)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Device, Vector};

    /// Copies 16 bytes on the CPU path; the first `failures` runs fail, every other one by a panic.
    fn copying(context: &Context, small: bool, failures: usize) -> Operation {
        let left = Arc::new(AtomicUsize::new(failures));
        let work = move |inputs: &[&[u8]], output: &mut [u8], _: Threads| {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(left) if left % 2 == 0 => {
                    return Err(CpuError::Length { operation: "a test", buffer: "x", want: 77, found: 1 });
                }
                Ok(_) => std::panic::resume_unwind(Box::new("77")),
                Err(_) => output[..16].copy_from_slice(&inputs[0][..16]),
            }
            Ok(())
        };
        let size = Size { operands: vec![16; 2], result: 1, written: 16, operations: 16.0 };
        let host = Host { work: Arc::new(work), small, size };
        let plan = |_: &Probe| Err(Refused::Lacks("what is needed".to_owned()));
        Operation::new(context, "a test", plan, host, Doer::Fastest).unwrap()
    }

    fn failed<T: std::fmt::Debug>(result: Result<T, Error>) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("77"), "{error}");
    }

    #[test]
    fn failures_of_the_cpu_path_are_told() {
        for small in [true, false] {
            for failures in [1, 2] {
                let context = Context::new(&Device::Cpu).unwrap();
                let bytes = |value: u8| Vector::from_slice(&context, &[value; 16]).unwrap();
                let (source, lost, of_lost, good) = (bytes(5), bytes(0), bytes(0), bytes(0));
                let copy = copying(&context, small, failures);
                let run = |from: &Vector<u8>, to: &Vector<u8>| {
                    copy.run(&[("from", from.memory()), ("to", to.memory())], &[]).unwrap()
                };
                for _ in 0..failures {
                    drop(run(&source, &lost));
                }
                drop(run(&lost, &of_lost));
                drop(run(&source, &good));
                assert_eq!(good.to_vec().unwrap(), [5; 16]);
                failed(context.finish());
                context.finish().unwrap();
                failed(lost.to_vec());
                failed(of_lost.to_vec());
                failed(run(&of_lost, &good).wait());
                // All of it is overwritten.
                drop(run(&source, &lost));
                run(&lost, &of_lost).wait().unwrap();
                assert_eq!(of_lost.to_vec().unwrap(), [5; 16]);
                context.finish().unwrap();
            }
        }
    }

    /// It is done in the call, which returns the failure.
    #[test]
    fn failures_in_a_devices_place_are_told() {
        for device in Device::list().into_iter().filter(|device| device.probe().is_some()) {
            let context = Context::new(&device).unwrap();
            let bytes = |value: u8| Vector::from_slice(&context, &[value; 16]).unwrap();
            let (source, result) = (bytes(5), bytes(1));
            let copy = copying(&context, false, 2);
            let run = || copy.run(&[("from", source.memory()), ("to", result.memory())], &[]);
            // By a panic, then by an error.
            failed(run());
            failed(run());
            context.finish().unwrap();
            run().unwrap().wait().unwrap();
            assert_eq!(result.to_vec().unwrap(), [5; 16]);
        }
    }
}
