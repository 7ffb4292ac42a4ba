//! Runs a launch: lays out its memory, checks the limits, and collects the outcome.

use std::sync::Arc;
use std::time::Instant;

use cranelift_entity::SecondaryMap;
use tripipe_ir::{Block, Kernel, Module, ObjectData, ParameterKind, Space};
use tripipe_launch::{ExecuteError, Launch, Program};

use super::Simulator;
use super::binding::{Bound, bind};
use super::memory::Objects;
use super::observed::LaidOut;
use super::options::Options;
use super::outcome::{Report, RunError};
use super::program::Purpose;
use super::range::range;
use crate::execute::code::Code;
use crate::execute::effects::written;
use crate::execute::launch::{Job, Outcome};
use crate::execute::memory::{MAX_OBJECTS, pointer};
use crate::execute::memory_map::MemoryMap;
use crate::execute::observer::Observer;
use crate::execute::range::Group;
use crate::execute::rows::WIDTH;
use crate::execute::schedule::Schedule;
use crate::execute::state::{BoundImage, Stop};
use crate::source::location_of;
use crate::watch::shadow::BYTES_PER_PRIVATE_BYTE;

/// A launch bound to the memory of its arguments.
pub(super) struct SetUp {
    pub(super) code: Arc<Code>,
    pub(super) memory_map: MemoryMap,
    pub(super) range: Group,
    pub(super) schedule: Schedule,
    /// Threads that may share its work-groups.
    pub(super) threads: usize,
    /// Whether loads outside of buffers load zeros.
    pub(super) tolerant: bool,
    /// Bits of each component of each argument.
    pub(super) values: Vec<Vec<u64>>,
    pub(super) images: Vec<BoundImage>,
}

impl SetUp {
    /// The launch of a kernel, of all its work-groups.
    pub(super) fn job<'a>(&'a self, module: &'a Module, kernel: &'a Kernel, steps: u64) -> Job<'a> {
        Job {
            module,
            kernel,
            code: &self.code,
            memory_map: &self.memory_map,
            arguments: &self.values,
            images: &self.images,
            range: self.range,
            only: None,
            schedule: self.schedule,
            threads: self.threads,
            steps,
            tolerant: self.tolerant,
        }
    }
}

impl Simulator {
    /// Whether a kernel may write through each of its arguments.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::prepare`].
    pub fn written_arguments(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
    ) -> Result<Vec<bool>, ExecuteError> {
        let kernel = self.kernel(program, entry)?;
        Ok(written(kernel).unwrap_or_else(|| vec![true; kernel.parameters.len()]))
    }

    /// Binds a launch to the memory of its arguments, and checks the limits.
    pub(super) fn set_up(&mut self, launch: &Launch, purpose: Purpose) -> Result<SetUp, ExecuteError> {
        let loaded = self.programs.load(&launch.program, &self.options, &self.probe.name)?;
        let code = loaded.code(&launch.program, &launch.entry, purpose)?;
        let module = &loaded.module;
        let kernel = loaded.kernel(&launch.program, &launch.entry)?;
        let bound = bind(&self.objects, kernel, launch)?;
        // Bounds have addresses of their own.
        let reached = if purpose == Purpose::Bound { Vec::new() } else { self.objects.reached() };
        let memory_map = MemoryMap::new(module, kernel, &bound.passed, &reached);
        if memory_map.objects.len() >= MAX_OBJECTS {
            return Err(ExecuteError::OutOfMemory {
                bytes: 0,
                reason: format!("a launch can have {MAX_OBJECTS} objects"),
            });
        }
        let range = range(kernel, &launch.entry, &launch.range, &self.options, &self.probe)?;
        let local = memory_map.local_bytes();
        if local > self.probe.local_memory_bytes {
            return Err(ExecuteError::OutOfMemory {
                bytes: local,
                reason: format!("a work-group has {} bytes of local memory", self.probe.local_memory_bytes),
            });
        }
        let schedule = self.options.schedule.at_least(range.sub_group as usize);
        let threads = match self.options.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        };
        let at_once = if purpose == Purpose::Run { threads } else { 1 };
        let need = MemoryNeed { code: &code, memory_map: &memory_map, range: &range, schedule, at_once };
        need.check(module, purpose == Purpose::Check, self.options.memory_bytes)?;
        let Bound { values, images, offsets, .. } = bound;
        let images: Vec<BoundImage> = images
            .into_iter()
            .map(|(index, image)| {
                let (object, offset) = (memory_map.arguments[index], offsets[index] as usize);
                BoundImage { image, object, offset }
            })
            .collect();
        let values = with_pointers(values, &offsets, kernel, &memory_map);
        let tolerant = self.options.tolerant;
        Ok(SetUp { code, memory_map, range, schedule, threads, tolerant, values, images })
    }

    /// Runs a launch, all of its work-groups or `only` some. `start` makes its observer, and `finish` returns what the
    /// observer has found out.
    pub(super) fn launch<O: Observer, F>(
        &mut self,
        launch: &Launch,
        purpose: Purpose,
        only: Option<&[u64]>,
        start: impl FnOnce(LaidOut<'_>, &mut Objects) -> O,
        finish: impl FnOnce(O, LaidOut<'_>, &mut Objects, &mut Outcome) -> F,
    ) -> Result<(Report, F), ExecuteError> {
        let set_up = self.set_up(launch, purpose)?;
        let SetUp { code, memory_map, range, threads, .. } = &set_up;
        let loaded = self.programs.load(&launch.program, &self.options, &self.probe.name)?;
        let kernel = loaded.kernel(&launch.program, &launch.entry)?;
        let module = &loaded.module;
        let mut globals = program_objects(module, loaded.objects.as_deref(), memory_map);
        for memory in &memory_map.buffers {
            let storage = self.objects.storage(*memory);
            globals.push(storage.map(|storage| std::mem::take(&mut storage.bytes)).unwrap_or_default());
        }
        let job = Job { only, ..set_up.job(module, kernel, self.options.steps) };
        let laid_out = LaidOut { module, kernel, memory_map };
        let begin = Instant::now();
        let mut observer = start(laid_out, &mut self.objects);
        let observes = purpose != Purpose::Run;
        let mut outcome = job.run(&mut globals, observes.then_some(&mut observer as &mut dyn Observer));
        let elapsed = begin.elapsed();
        let buffers = globals.split_off(module.objects.len());
        for (memory, bytes) in memory_map.buffers.iter().zip(buffers) {
            if let Some(storage) = self.objects.storage(*memory) {
                storage.bytes = bytes;
                // Only checks track writes, and keep what they know.
                storage.written = None;
            }
        }
        self.printed.append(&mut outcome.printed);
        if let Some((group, fault)) = outcome.stray.take() {
            let stray = failure(&group, Stop::Fault(fault), module, kernel, &self.options);
            self.strays.push(stray);
        }
        let found = finish(observer, laid_out, &mut self.objects, &mut outcome);
        let failed = outcome.stop.map(|(group, stop)| ExecuteError::Backend {
            during: format!("running `{}`", launch.entry),
            source: Box::new(failure(&group, stop, module, kernel, &self.options)),
        });
        loaded.objects = Some(globals);
        if let Some(failed) = failed {
            return Err(failed);
        }
        let mut block_runs: SecondaryMap<Block, u64> = SecondaryMap::new();
        for (code, entered) in code.blocks.iter().zip(&outcome.entered) {
            if let Some(block) = code.of {
                block_runs[block] += entered;
            }
        }
        let work_items = launch.range.work_items().unwrap_or(0) as u64;
        let (global, local, threads) = (range.global, range.enqueued_local, *threads);
        let report = Report { global, local, work_items, block_runs, threads, elapsed };
        Ok((report, found))
    }
}

/// What decides how much memory a launch needs besides its arguments.
struct MemoryNeed<'a> {
    code: &'a Code,
    memory_map: &'a MemoryMap,
    range: &'a Group,
    schedule: Schedule,
    /// The most work-groups that run at the same time.
    at_once: usize,
}

impl MemoryNeed<'_> {
    /// Checks the sizes of program-scope and private variables against a limit.
    fn check(&self, module: &Module, checked: bool, limit: u64) -> Result<(), ExecuteError> {
        let groups = self.range.groups.iter().product::<u64>().min(self.at_once as u64);
        // If work-items do not wait for each other, warps run one after another.
        let warps = if self.code.interleaves(self.range) {
            self.range.enqueued_local.iter().product::<u64>().div_ceil(self.schedule.warp as u64)
        } else {
            1
        };
        let program = module.objects.values().map(ObjectData::bytes).fold(0, u64::saturating_add);
        let each = WIDTH as u64 + if checked { BYTES_PER_PRIVATE_BYTE } else { 0 };
        let private =
            self.memory_map.private_bytes().saturating_mul(each).saturating_mul(warps).saturating_mul(groups);
        for (bytes, whose) in [
            (program, "the program's own variables"),
            (private, "the private variables of the work-items that run at once"),
        ] {
            if bytes > limit {
                return Err(ExecuteError::OutOfMemory {
                    bytes,
                    reason: format!("{whose} may have {limit} bytes"),
                });
            }
        }
        Ok(())
    }
}

/// The arguments' values, with the addresses of objects.
fn with_pointers(
    mut values: Vec<Vec<u64>>,
    offsets: &[u64],
    kernel: &Kernel,
    memory_map: &MemoryMap,
) -> Vec<Vec<u64>> {
    for ((value, object), offset) in values.iter_mut().zip(&memory_map.arguments).zip(offsets) {
        if *object != 0 && value.is_empty() {
            let shared = memory_map.shared.iter().find(|range| range.object == *object);
            *value = vec![shared.map_or_else(|| pointer(*object, *offset), |range| range.address + offset)];
        }
    }
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        if let ParameterKind::Struct { object } = parameter.kind {
            values[index] = vec![pointer(MemoryMap::kernel_object(object.as_u32()), 0)];
        }
    }
    values
}

/// The bytes of the program's objects. Program-scope variables persist between launches: `kept` has all objects' bytes
/// after the last one. Constants are made again, because kernels number objects differently.
pub(super) fn program_objects(
    module: &Module,
    kept: Option<&[Vec<u8>]>,
    memory_map: &MemoryMap,
) -> Vec<Vec<u8>> {
    let objects = module.objects.values().enumerate();
    objects
        .map(|(index, object)| {
            let kept = kept.filter(|_| object.space != Space::Constant).and_then(|kept| kept.get(index));
            kept.cloned().unwrap_or_else(|| memory_map.initial(object))
        })
        .collect()
}

/// Why a launch that stopped early has no result.
pub(super) fn failure(
    group: &Group,
    stop: Stop,
    module: &Module,
    kernel: &Kernel,
    options: &Options,
) -> RunError {
    let name = kernel.name.clone();
    match stop {
        Stop::Fault(fault) => RunError::Fault {
            kernel: name,
            message: fault.message,
            global: group.global_id(u64::from(fault.item)),
            location: location_of(module, kernel, fault.origin),
        },
        Stop::Waits(at, item) => RunError::Waits {
            kernel: name,
            global: group.global_id(u64::from(item)),
            location: at.and_then(|at| location_of(module, kernel, at)),
        },
        Stop::Steps(_) | Stop::Meet | Stop::MeetSubGroup => {
            RunError::Steps { kernel: name, steps: options.steps }
        }
    }
}
