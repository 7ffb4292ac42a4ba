//! Runs a launch: lays out its memory, checks the limits, and collects the outcome.

use std::sync::Arc;
use std::time::Instant;

use cranelift_entity::SecondaryMap;
use tripipe_ir::diagnostic::Finding;
use tripipe_ir::{Block, Kernel, Module, ObjectData, ParameterKind, Space};
use tripipe_launch::{ExecuteError, Launch, MemoryId, Program};

use super::Simulator;
use super::binding::{Bound, bind};
use super::memory::Objects;
use super::options::Options;
use super::outcome::{Checked, Report, RunError};
use super::program::{Loaded, Purpose};
use super::range::range;
use crate::bounds::{Bounded, Evaluation, Freedom, Places};
use crate::depend::{Dependence, NeededLines};
use crate::execute::code::Code;
use crate::execute::effects::written;
use crate::execute::launch::Job;
use crate::execute::memory::{Home, MAX_OBJECTS, pointer};
use crate::execute::memory_map::MemoryMap;
use crate::execute::observer::Observer;
use crate::execute::range::Group;
use crate::execute::rows::WIDTH;
use crate::execute::schedule::Schedule;
use crate::execute::state::{BoundImage, Stop};
use crate::source::location_of;
use crate::watch::objects::{self, Before};
use crate::watch::plan::watchers;
use crate::watch::shadow::BYTES_PER_PRIVATE_BYTE;
use crate::watch::state::Watch;
use crate::watch::{Checks, kernel as whole};

/// A launch bound to the memory of its arguments.
pub(super) struct SetUp {
    pub(super) code: Arc<Code>,
    pub(super) memory_map: MemoryMap,
    pub(super) range: Group,
    pub(super) schedule: Schedule,
    /// Threads that may share its work-groups.
    pub(super) threads: usize,
    /// Bits of each component of each argument.
    pub(super) values: Vec<Vec<u64>>,
    pub(super) images: Vec<BoundImage>,
}

/// What a checked launch found, and the checks that could not be made.
#[derive(Debug, Default)]
pub(super) struct Found {
    findings: Vec<Finding>,
    left_out: Vec<String>,
    bounded: Bounded,
    needed: NeededLines,
}

/// What comes with a launch.
#[derive(Clone, Copy)]
pub(super) enum With<'a> {
    Nothing,
    /// Only these work-groups.
    Groups(&'a [u64]),
    Checks(&'a Checks),
    /// The bounds of the numbers in these places.
    Bounds(&'a Places, Freedom),
    /// What the number in this place depends on.
    Dependence((MemoryId, usize)),
}

impl Simulator {
    /// Runs a launch with checks, on one thread.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`]; findings are not errors.
    pub fn check(&mut self, launch: &Launch, checks: &Checks) -> Result<Checked, ExecuteError> {
        let (report, Found { findings, left_out, .. }) = self.launch(launch, With::Checks(checks))?;
        Ok(Checked { findings, left_out, report })
    }

    /// Runs a launch, and determines what the language allows for the numbers that it leaves in some places. The
    /// places are the first bytes of numbers; `freedom` is what the build options add to what is allowed.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`].
    pub fn bound(
        &mut self,
        launch: &Launch,
        places: &Places,
        freedom: Freedom,
    ) -> Result<Bounded, ExecuteError> {
        Ok(self.launch(launch, With::Bounds(places, freedom))?.1.bounded)
    }

    /// Runs a launch, and determines which lines of the source the number depends on that it leaves at a byte offset of a
    /// memory object.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`].
    pub fn needed_lines(
        &mut self,
        launch: &Launch,
        place: (MemoryId, usize),
    ) -> Result<NeededLines, ExecuteError> {
        Ok(self.launch(launch, With::Dependence(place))?.1.needed)
    }

    /// Runs some work-groups of a launch: `groups` are their numbers, dimension 0 fastest.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`]; [`ExecuteError::Range`]: there is no work-group of such a number.
    pub fn run_groups(&mut self, launch: &Launch, groups: &[u64]) -> Result<(), ExecuteError> {
        let count: u64 = self.set_up(launch, Purpose::Run)?.range.groups.iter().product();
        if let Some(group) = groups.iter().find(|group| **group >= count) {
            return Err(ExecuteError::Range {
                entry: launch.entry.clone(),
                range: format!("{:?}", launch.range),
                reason: format!("there are {count} work-groups, and none of number {group}"),
            });
        }
        self.launch(launch, With::Groups(groups)).map(drop)
    }

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
        let code = self.load(&launch.program)?.code(&launch.program, &launch.entry, purpose)?;
        let missing =
            |what: &str| ExecuteError::NotOffered { what: what.to_owned(), device: self.probe.name.clone() };
        let loaded = self.programs.get(&launch.program).ok_or_else(|| missing("the program"))?;
        let module = &loaded.module;
        let kernel = module.kernel(&launch.entry).ok_or_else(|| missing("the kernel"))?;
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
        let need = Need { code: &code, memory_map: &memory_map, range: &range, schedule, at_once };
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
        Ok(SetUp { code, memory_map, range, schedule, threads, values, images })
    }

    pub(super) fn launch(
        &mut self,
        launch: &Launch,
        with: With<'_>,
    ) -> Result<(Report, Found), ExecuteError> {
        let purpose = match with {
            With::Nothing | With::Groups(_) => Purpose::Run,
            With::Checks(_) => Purpose::Check,
            With::Bounds(..) | With::Dependence(_) => Purpose::Bound,
        };
        let SetUp { code, memory_map, range, schedule, threads, values, images } =
            self.set_up(launch, purpose)?;
        let missing =
            |what: &str| ExecuteError::NotOffered { what: what.to_owned(), device: self.probe.name.clone() };
        let loaded = self.programs.get_mut(&launch.program).ok_or_else(|| missing("the program"))?;
        let Loaded { module, objects: kept, .. } = loaded;
        let kernel = module.kernel(&launch.entry).ok_or_else(|| missing("the kernel"))?;
        let mut globals = globals(module, kept.as_deref(), &memory_map, &mut self.objects);
        let start = Instant::now();
        let steps = self.options.steps;
        let (arguments, images) = (&values[..], &images[..]);
        let job = Job {
            module,
            kernel,
            code: &code,
            memory_map: &memory_map,
            arguments,
            images,
            range,
            only: if let With::Groups(groups) = with { Some(groups) } else { None },
            schedule,
            threads,
            steps,
        };
        let checks = if let With::Checks(checks) = with { Some(checks) } else { None };
        let mut watch = checks.map(|checks| {
            let before = memory_map.buffers.iter().map(|memory| Before {
                access: self.objects.access(*memory),
                written: self.objects.storage(*memory).and_then(|storage| storage.written.take()),
            });
            let objects = objects::watch(module, kernel, &memory_map, before.collect());
            let mut watch = Watch::new(checks.clone(), kernel, watchers(kernel), objects);
            whole::check(&mut watch, kernel, &memory_map);
            watch
        });
        let mut evaluation = match &with {
            With::Bounds(places, freedom) => {
                Some(Evaluation::new(module, kernel, &memory_map, places, *freedom))
            }
            _ => None,
        };
        let mut dependence = match with {
            With::Dependence(place) => Some(Dependence::new(module, kernel, &memory_map, place)),
            _ => None,
        };
        let observer = match (&mut watch, &mut evaluation, &mut dependence) {
            (Some(watch), ..) => Some(watch as &mut dyn Observer),
            (None, Some(evaluation), _) => Some(evaluation as &mut dyn Observer),
            (None, None, Some(dependence)) => Some(dependence as &mut dyn Observer),
            (None, None, None) => None,
        };
        let outcome = job.run(&mut globals, observer);
        let elapsed = start.elapsed();
        let buffers = globals.split_off(module.objects.len());
        for (memory, bytes) in memory_map.buffers.iter().zip(buffers) {
            if let Some(storage) = self.objects.storage(*memory) {
                storage.bytes = bytes;
            }
        }
        *kept = Some(globals);
        self.printed.extend(outcome.printed);
        let mut stop = outcome.stop;
        let mut found = Found::default();
        if let Some(evaluation) = evaluation {
            found.bounded = evaluation.finish();
        }
        if let Some(dependence) = dependence {
            found.needed = dependence.finish();
        }
        if let Some(mut watch) = watch {
            keep_written(&mut watch, module, &memory_map, &mut self.objects);
            // An endless loop is a finding.
            match &stop {
                Some((group, Stop::Steps(at))) => {
                    whole::endless(&mut watch, group, *at, steps, outcome.ended);
                }
                Some((group, Stop::Waits(at, item))) => whole::waits(&mut watch, group, *at, *item),
                _ => {}
            }
            stop = stop.filter(|(_, stop)| !matches!(stop, Stop::Steps(_) | Stop::Waits(..)));
            found.left_out.extend(watch.left_out());
            found.findings = watch.findings.finish(module, kernel);
        } else {
            // Writes were not tracked.
            for memory in &memory_map.buffers {
                if let Some(storage) = self.objects.storage(*memory) {
                    storage.written = None;
                }
            }
        }
        if let Some((group, stop)) = stop {
            return Err(ExecuteError::Backend {
                during: format!("running `{}`", launch.entry),
                source: Box::new(failure(&group, stop, module, kernel, &self.options)),
            });
        }
        let mut block_runs: SecondaryMap<Block, u64> = SecondaryMap::new();
        for (code, entered) in code.blocks.iter().zip(&outcome.entered) {
            if let Some(block) = code.of {
                block_runs[block] += entered;
            }
        }
        let work_items = launch.range.work_items().unwrap_or(0) as u64;
        let (global, local) = (range.global, range.enqueued_local);
        Ok((Report { global, local, work_items, block_runs, threads, elapsed }, found))
    }
}

/// What decides how much memory a launch needs besides its arguments.
struct Need<'a> {
    code: &'a Code,
    memory_map: &'a MemoryMap,
    range: &'a Group,
    schedule: Schedule,
    /// The most work-groups that run at the same time.
    at_once: usize,
}

impl Need<'_> {
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

/// The bytes of the program's objects and of the buffers, in the order of the layout. Program-scope variables persist
/// between launches: `kept` has their bytes after the last one.
fn globals(
    module: &Module,
    kept: Option<&[Vec<u8>]>,
    memory_map: &MemoryMap,
    objects: &mut Objects,
) -> Vec<Vec<u8>> {
    let mut globals: Vec<Vec<u8>> = Vec::with_capacity(module.objects.len() + memory_map.buffers.len());
    for (index, object) in module.objects.values().enumerate() {
        let kept = kept.filter(|_| object.space != Space::Constant).and_then(|kept| kept.get(index));
        globals.push(kept.cloned().unwrap_or_else(|| memory_map.initial(object)));
    }
    for memory in &memory_map.buffers {
        let storage = objects.storage(*memory);
        globals.push(storage.map(|storage| std::mem::take(&mut storage.bytes)).unwrap_or_default());
    }
    globals
}

/// Stores which bytes of the buffers have been written, for the next checked launch.
fn keep_written(watch: &mut Watch, module: &Module, memory_map: &MemoryMap, objects: &mut Objects) {
    for (info, object) in memory_map.objects.iter().zip(&mut watch.objects) {
        let Home::Global(index) = info.home else { continue };
        let Some(buffer) = (index as usize).checked_sub(module.objects.len()) else { continue };
        if let Some(storage) = objects.storage(memory_map.buffers[buffer]) {
            storage.written = object.written.take().filter(|written| !written.is_full());
        }
    }
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
