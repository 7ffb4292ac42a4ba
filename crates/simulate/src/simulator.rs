//! The simulator, an executor of launches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cranelift_entity::SecondaryMap;
use tripipe_device::{DeviceKind, Gpu, ImageLimits, Probe};
use tripipe_ir::diagnostic::{Finding, SourcePlace};
use tripipe_ir::front::{clang, spirv};
use tripipe_ir::op::{Addressing, SamplerBits};
use tripipe_ir::{Block, Kernel, Module, Op, ParameterKind, Space, Type};
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, Filter, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind,
    NdRange, Program, Sampler, Source, Timing,
};

use crate::execute::code::Code;
use crate::execute::decode::{self, component_bytes};
use crate::execute::launch::{BoundImage, Job};
use crate::execute::layout::{Layout, Passed};
use crate::execute::memory::{Home, MAX_OBJECTS, pointer};
use crate::execute::rows::WIDTH;
use crate::execute::state::{Group, Schedule, Stop};
use crate::image::Image;
use crate::watch::objects::{self, Before, Bits};
use crate::watch::{Checks, Watch};

/// Looks up the SPIR-V that was built ahead of time for a program.
pub type Prebuilt = fn(&Program) -> Option<&'static [u8]>;

/// Options of the simulator.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that share the work-groups of a launch; 0 means all cores. Launches with atomics on global memory, or
    /// with loops that wait for it to change, run on one thread, so that results are reproducible.
    pub threads: usize,
    /// Maximum number of instructions of a launch on each thread, counted once for all work-items that run them
    /// together.
    pub steps: u64,
    /// Maximum total size of all memory objects. The same limit applies separately to a program's own variables, and
    /// to the private variables of the work-items that run at once.
    pub memory_bytes: u64,
    /// Work-items per sub-group, a power of two up to 64, for kernels that require no specific size.
    pub sub_group: u32,
    /// SPIR-V built ahead of time; it needs no compiler.
    pub prebuilt: Option<Prebuilt>,
    /// The order and width in which work-items run.
    pub schedule: Schedule,
    /// The GPU whose limits apply: work-group size and local memory; its warp width becomes the sub-group size.
    pub gpu: Option<&'static Gpu>,
    /// How OpenCL C is compiled; the program's options are added.
    pub build: clang::Build,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            steps: 1 << 40,
            memory_bytes: 8 << 30,
            sub_group: 16,
            prebuilt: None,
            schedule: Schedule::numbered(0),
            gpu: None,
            build: clang::Build::default(),
        }
    }
}

/// Statistics of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [u64; 3],
    /// Number of work-items run.
    pub work_items: u64,
    /// Number of work-item executions of each block of the kernel.
    pub block_runs: SecondaryMap<Block, u64>,
    /// Threads that shared the work.
    pub threads: usize,
    /// Time from start to end, without building and loading the kernel.
    pub elapsed: Duration,
}

/// The outcome of a checked launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
    /// The checks that could not be made, one sentence each; empty when all requested checks were made.
    pub left_out: Vec<String>,
    /// Statistics of the run.
    pub report: Report,
}

/// Why a launch has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A work-item executed an operation without a defined result.
    #[error("{}work-item {global:?} of kernel `{kernel}` {message}", place.as_ref().map(|place| format!("{}:{}:{}: ", place.file, place.line, place.column)).unwrap_or_default())]
    Fault {
        /// The kernel.
        kernel: String,
        /// What happened.
        message: String,
        /// The work-item's global id.
        global: [u64; 3],
        /// The source location, if known.
        place: Option<SourcePlace>,
    },
    /// A work-item waits in a loop for a value that will never be written.
    #[error(
        "{}work-item {global:?} of kernel `{kernel}` waits in a loop for a change of memory that never comes: all others of its work-group have ended or wait too, and a work-group may wait for none that comes after it, as OpenCL lets them run one after another", place.as_ref().map(|place| format!("{}:{}:{}: ", place.file, place.line, place.column)).unwrap_or_default()
    )]
    Waits {
        /// The kernel.
        kernel: String,
        /// The work-item's global id.
        global: [u64; 3],
        /// The source location, if known.
        place: Option<SourcePlace>,
    },
    /// The kernel exceeded the step limit.
    #[error(
        "kernel `{kernel}` ran more than {steps} instructions without coming to its end: raise the limit, or look for an endless loop"
    )]
    Steps {
        /// The kernel.
        kernel: String,
        /// The limit.
        steps: u64,
    },
}

/// A memory object.
#[derive(Debug)]
struct Object {
    kind: MemoryKind,
    access: Access,
    /// The storage that holds the bytes: its own, or that of the underlying buffer.
    storage: MemoryId,
    row_pitch_bytes: usize,
}

#[derive(Debug, Default)]
struct Storage {
    bytes: Vec<u8>,
    /// Bytes that were written; `None` means all of them.
    written: Option<Bits>,
    owners: usize,
}

struct Loaded {
    module: Module,
    refused: Vec<spirv::Refused>,
    /// By kernel, and by whether the code has watchers.
    codes: HashMap<(String, bool), Arc<Code>>,
    /// Program-scope objects keep their contents between launches. Kernels number objects differently, so constants
    /// are created anew.
    objects: Option<Vec<Vec<u8>>>,
}

/// Runs launches without a GPU. This executor needs only the program.
pub struct Simulator {
    probe: Probe,
    options: Options,
    next: u64,
    objects: HashMap<MemoryId, Object>,
    storage: HashMap<MemoryId, Storage>,
    programs: HashMap<Arc<Program>, Loaded>,
    printed: Vec<u8>,
    epoch: Instant,
    reports: Vec<Report>,
}

impl Simulator {
    /// A simulator without memory objects.
    pub fn new(mut options: Options) -> Self {
        if let Some(gpu) = options.gpu {
            options.sub_group = gpu.core.warp_width.value.clamp(1, WIDTH as u32);
        }
        // A sub-group must fit in a warp.
        options.sub_group = options.sub_group.min(options.schedule.warp as u32);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let largest_group = options.gpu.map_or(4096, |gpu| gpu.core.max_work_group_size.value as usize);
        let probe = Probe {
            platform: "Tripipe".into(),
            name: options.gpu.map_or_else(
                || "Tripipe simulator".into(),
                |gpu| format!("Tripipe simulator as {}", gpu.name()),
            ),
            vendor: "Tripipe".into(),
            version: "OpenCL 3.0 Tripipe".into(),
            driver: env!("CARGO_PKG_VERSION").into(),
            opencl_c: (3, 0),
            kind: DeviceKind::Other,
            unified_memory: true,
            extensions: EXTENSIONS.iter().map(|name| (*name).to_owned()).collect(),
            compute_units: cores as u32,
            address_bits: 64,
            max_work_group_size: largest_group,
            max_work_item_sizes: [largest_group; 3],
            local_memory_bytes: options.gpu.map_or(1 << 20, |gpu| gpu.local_memory.bytes.value),
            global_memory_bytes: options.memory_bytes,
            max_buffer_bytes: options.memory_bytes,
            max_constant_bytes: options.memory_bytes,
            base_alignment_bytes: 128,
            images: Some(ImageLimits {
                max_2d: [32768; 2],
                max_3d: [16384; 3],
                max_layers: 16384,
                max_1d_buffer: 1 << 30,
                from_buffer: true,
                pitch_alignment: 1,
                base_address_alignment: 1,
            }),
            non_uniform_work_groups: true,
            preferred_vector_width: [1; 7],
            ..Probe::default()
        };
        Self {
            probe,
            options,
            next: 1,
            objects: HashMap::new(),
            storage: HashMap::new(),
            programs: HashMap::new(),
            printed: Vec::new(),
            epoch: Instant::now(),
            reports: Vec::new(),
        }
    }

    /// The output that kernels have printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// The reports of the launches of the last [`Executor::run`], one each.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    fn new_id(&mut self) -> MemoryId {
        self.next += 1;
        MemoryId(self.next - 1)
    }

    fn object(&self, memory: MemoryId) -> Result<&Object, ExecuteError> {
        self.objects.get(&memory).ok_or_else(|| ExecuteError::Memory {
            memory,
            reason: "it was released, or is another executor's".into(),
        })
    }

    /// The storage of an object, and its total size in bytes.
    fn bytes_of(&self, memory: MemoryId) -> Result<(MemoryId, usize), ExecuteError> {
        let object = self.object(memory)?;
        Ok((object.storage, self.storage.get(&object.storage).map_or(0, |storage| storage.bytes.len())))
    }

    fn load(&mut self, program: &Arc<Program>) -> Result<&mut Loaded, ExecuteError> {
        if !self.programs.contains_key(program) {
            let loaded = self.build(program)?;
            self.programs.insert(Arc::clone(program), loaded);
        }
        self.programs.get_mut(program).ok_or_else(|| ExecuteError::NotOffered {
            what: "the program".into(),
            device: "the simulator".into(),
        })
    }

    fn build(&self, program: &Program) -> Result<Loaded, ExecuteError> {
        let failed = |summary: String, line: Option<u32>| ExecuteError::Build {
            program: program.name.to_string(),
            line,
            summary: summary.lines().next().unwrap_or_default().to_owned(),
            log: summary,
        };
        let built;
        // Prebuilt programs were built from the unchanged source, without further options.
        let as_usual = self.options.build.options.is_empty()
            && self.options.build.optimization == clang::Optimization::AsWritten;
        let prebuilt = self.options.prebuilt.filter(|_| as_usual).and_then(|find| find(program));
        let bytes: &[u8] = match (&program.source, prebuilt) {
            (_, Some(bytes)) => bytes,
            (Source::SpirV(bytes), None) => bytes,
            (Source::OpenClC(text), None) => {
                let mut build = self.options.build.clone();
                for (name, value) in &program.defines {
                    build.options.push(format!("-D{name}={value}"));
                }
                build.options.extend(program.options.iter().cloned());
                built = clang::build_text(&program.name, text, None, &build)
                    .map_err(|error| failed(error.to_string(), None))?;
                &built.spirv
            }
            (_, None) => {
                return Err(ExecuteError::NotOffered {
                    what: "this form of program".into(),
                    device: self.probe.name.clone(),
                });
            }
        };
        let spirv::Loaded { module, refused } =
            spirv::load_each(bytes, &spirv::Options::default()).map_err(|error| {
                let line = error.place().and_then(|place| place.source.as_ref()).map(|place| place.line);
                failed(error.to_string(), line)
            })?;
        Ok(Loaded { module, refused, codes: HashMap::new(), objects: None })
    }

    fn code(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        watched: bool,
    ) -> Result<Arc<Code>, ExecuteError> {
        let name = program.name.to_string();
        let loaded = self.load(program)?;
        if let Some(code) = loaded.codes.get(&(entry.to_owned(), watched)) {
            return Ok(Arc::clone(code));
        }
        let Some(kernel) = loaded.module.kernel(entry) else {
            if let Some(refused) = loaded.refused.iter().find(|refused| refused.kernel == entry) {
                return Err(ExecuteError::Build {
                    program: name,
                    line: refused
                        .error
                        .place()
                        .and_then(|place| place.source.as_ref())
                        .map(|place| place.line),
                    summary: refused.error.to_string(),
                    log: refused.error.to_string(),
                });
            }
            return Err(ExecuteError::NoSuchKernel {
                program: name,
                entry: entry.to_owned(),
                kernels: loaded
                    .module
                    .kernels
                    .iter()
                    .map(|kernel| kernel.name.clone())
                    .chain(loaded.refused.iter().map(|refused| refused.kernel.clone()))
                    .collect(),
            });
        };
        let module = &loaded.module;
        let describe = |inst: tripipe_ir::Inst| {
            let data = &kernel.insts[inst];
            (data.op.to_string(), place_of(module, kernel, inst))
        };
        let code = decode::decode(kernel, describe, watched).map_err(|error| ExecuteError::Build {
            program: name,
            line: error.place.as_ref().map(|place| place.line),
            summary: error.to_string(),
            log: error.to_string(),
        })?;
        let code = Arc::new(code);
        loaded.codes.insert((entry.to_owned(), watched), Arc::clone(&code));
        Ok(code)
    }

    /// Runs a launch with watchers, on one thread.
    ///
    /// # Errors
    /// As [`Executor::run`]; findings are not errors.
    pub fn check(&mut self, launch: &Launch, checks: &Checks) -> Result<Checked, ExecuteError> {
        let (mut findings, mut left_out) = (Vec::new(), Vec::new());
        let report = self.launch(launch, Some((checks, &mut findings, &mut left_out)))?;
        Ok(Checked { findings, left_out, report })
    }

    fn launch(
        &mut self,
        launch: &Launch,
        watched: Option<(&Checks, &mut Vec<Finding>, &mut Vec<String>)>,
    ) -> Result<Report, ExecuteError> {
        let code = self.code(&launch.program, &launch.entry, watched.is_some())?;
        let Some(loaded) = self.programs.get(&launch.program) else {
            return Err(ExecuteError::NotOffered {
                what: "the program".into(),
                device: self.probe.name.clone(),
            });
        };
        let Some(kernel) = loaded.module.kernel(&launch.entry) else {
            return Err(ExecuteError::NotOffered {
                what: "the kernel".into(),
                device: self.probe.name.clone(),
            });
        };
        let bound = self.bind(kernel, launch)?;
        let layout = Layout::new(&loaded.module, kernel, &bound.passed);
        if layout.objects.len() >= MAX_OBJECTS {
            return Err(ExecuteError::OutOfMemory {
                bytes: 0,
                reason: format!("a launch can have {MAX_OBJECTS} objects"),
            });
        }
        let range = range(kernel, &launch.entry, &launch.range, &self.options, &self.probe)?;
        let local = layout.local_bytes();
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
        let groups = range.groups.iter().product::<u64>();
        let at_once = if watched.is_some() { 1 } else { groups.min(threads as u64) };
        // If work-items do not wait for each other, warps run one after another.
        let warps = if code.meets || !code.spins.is_empty() {
            range.enqueued_local.iter().product::<u64>().div_ceil(schedule.warp as u64)
        } else {
            1
        };
        let program = loaded.module.objects.values().map(tripipe_ir::ObjectData::bytes);
        let private = layout.warp_bytes(watched.is_some()).saturating_mul(warps).saturating_mul(at_once);
        for (bytes, whose) in [
            (program.fold(0, u64::saturating_add), "the program's own variables"),
            (private, "the private variables of the work-items that run at once"),
        ] {
            if bytes > self.options.memory_bytes {
                let reason = format!("{whose} may have {} bytes", self.options.memory_bytes);
                return Err(ExecuteError::OutOfMemory { bytes, reason });
            }
        }
        let mut values = bound.values;
        for (value, object) in values.iter_mut().zip(&layout.arguments) {
            if *object != 0 && value.is_empty() {
                *value = vec![pointer(*object, 0)];
            }
        }
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            if let ParameterKind::Struct { object } = parameter.kind {
                values[index] = vec![pointer(Layout::kernel_object(object.as_u32()), 0)];
            }
        }
        let images: Vec<BoundImage> = bound
            .images
            .into_iter()
            .map(|(index, image)| BoundImage { image, object: layout.arguments[index] })
            .collect();
        // Program-scope variables persist between launches.
        let mut globals: Vec<Vec<u8>> =
            Vec::with_capacity(loaded.module.objects.len() + layout.buffers.len());
        for (index, object) in loaded.module.objects.values().enumerate() {
            let kept = loaded.objects.as_ref().filter(|_| object.space != Space::Constant);
            globals.push(
                kept.and_then(|kept| kept.get(index).cloned()).unwrap_or_else(|| layout.initial(object)),
            );
        }
        for memory in &layout.buffers {
            globals.push(
                self.storage
                    .get_mut(memory)
                    .map(|storage| std::mem::take(&mut storage.bytes))
                    .unwrap_or_default(),
            );
        }
        let start = Instant::now();
        let job = Job {
            module: &loaded.module,
            kernel,
            code: &code,
            layout: &layout,
            arguments: &values,
            images: &images,
            range,
            schedule,
            threads,
            steps: self.options.steps,
        };
        let watch = watched.as_ref().map(|(checks, ..)| {
            let before = layout.buffers.iter().map(|memory| Before {
                access: self.objects.get(memory).map_or(Access::ReadWrite, |object| object.access),
                written: self.storage.get_mut(memory).and_then(|storage| storage.written.take()),
            });
            let objects = objects::watch(&loaded.module, kernel, &layout, before.collect());
            let mut watch = Box::new(Watch::new((*checks).clone(), kernel, objects));
            crate::watch::kernel::check(&mut watch, kernel, &layout);
            watch
        });
        let outcome = job.run(&mut globals, watch);
        let elapsed = start.elapsed();
        let buffers = globals.split_off(loaded.module.objects.len());
        for (memory, bytes) in layout.buffers.iter().zip(buffers) {
            if let Some(storage) = self.storage.get_mut(memory) {
                storage.bytes = bytes;
            }
        }
        let mut endless = false;
        if let (Some((_, findings, left_out)), Some(mut watch)) = (watched, outcome.watch) {
            for (info, object) in layout.objects.iter().zip(&mut watch.objects) {
                let Home::Global(index) = info.home else { continue };
                let memory =
                    (index as usize).checked_sub(loaded.module.objects.len()).map(|at| layout.buffers[at]);
                if let Some(storage) = memory.and_then(|memory| self.storage.get_mut(&memory)) {
                    storage.written = object.written.take().filter(|written| !written.is_full());
                }
            }
            match &outcome.stop {
                Some((group, Stop::Steps(at))) => {
                    endless = true;
                    crate::watch::kernel::endless(&mut watch, group, *at, self.options.steps, outcome.ended);
                }
                Some((group, Stop::Waits(at, item))) => {
                    endless = true;
                    crate::watch::kernel::waits(&mut watch, group, *at, *item);
                }
                _ => {}
            }
            left_out.extend(watch.left_out());
            *findings = watch.findings.finish(&loaded.module, kernel);
        } else {
            // Writes were not tracked.
            for memory in &layout.buffers {
                if let Some(storage) = self.storage.get_mut(memory) {
                    storage.written = None;
                }
            }
        }
        let failure = outcome.stop.filter(|_| !endless).map(|(group, stop)| match stop {
            Stop::Fault(fault) => RunError::Fault {
                kernel: kernel.name.clone(),
                message: fault.message,
                global: group.global_id(u64::from(fault.item)),
                place: place_of(&loaded.module, kernel, fault.origin),
            },
            Stop::Waits(at, item) => RunError::Waits {
                kernel: kernel.name.clone(),
                global: group.global_id(u64::from(item)),
                place: at.and_then(|at| place_of(&loaded.module, kernel, at)),
            },
            Stop::Steps(_) | Stop::Meet | Stop::MeetSubGroup => {
                RunError::Steps { kernel: kernel.name.clone(), steps: self.options.steps }
            }
        });
        if let Some(loaded) = self.programs.get_mut(&launch.program) {
            loaded.objects = Some(globals);
        }
        self.printed.extend(outcome.printed);
        if let Some(error) = failure {
            return Err(ExecuteError::Backend {
                during: format!("running `{}`", launch.entry),
                source: Box::new(error),
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
        Ok(Report { global, local, work_items, block_runs, threads, elapsed })
    }

    fn bind<'a>(&self, kernel: &Kernel, launch: &'a Launch) -> Result<Bound<'a>, ExecuteError> {
        if kernel.parameters.len() != launch.arguments.len() {
            return Err(ExecuteError::ArgumentCount {
                entry: launch.entry.clone(),
                want: kernel.parameters.len(),
                found: launch.arguments.len(),
            });
        }
        let mut bound = Bound { passed: Vec::new(), values: Vec::new(), images: Vec::new() };
        for (index, (parameter, argument)) in kernel.parameters.iter().zip(&launch.arguments).enumerate() {
            let wrong = |want: String, found: String| ExecuteError::Argument {
                entry: launch.entry.clone(),
                index,
                name: parameter.name.clone(),
                want,
                found,
            };
            let (passed, value) = match (&parameter.kind, argument) {
                (ParameterKind::Pointer { space: Space::Local, .. }, Argument::Local { bytes }) => {
                    (Passed::Local(*bytes), Vec::new())
                }
                (
                    ParameterKind::Pointer { space: Space::Global | Space::Constant, .. },
                    Argument::Memory(memory),
                ) => {
                    let object = self.object(*memory)?;
                    if matches!(object.kind, MemoryKind::Image(_)) {
                        return Err(wrong("a buffer".into(), "an image".into()));
                    }
                    let (storage, bytes) = self.bytes_of(*memory)?;
                    (Passed::Buffer(storage, bytes), Vec::new())
                }
                (ParameterKind::Pointer { space: Space::Global | Space::Constant, .. }, Argument::Null) => {
                    (Passed::Nothing, vec![0])
                }
                (ParameterKind::Value(Type::Image(ty)), Argument::Memory(memory)) => {
                    let object = self.object(*memory)?;
                    let MemoryKind::Image(shape) = &object.kind else {
                        return Err(wrong("an image".into(), "a buffer".into()));
                    };
                    let (storage, bytes) = self.bytes_of(*memory)?;
                    let slice = object.row_pitch_bytes.saturating_mul(shape.extent.height());
                    let image = Image::new(shape, object.row_pitch_bytes, slice)
                        .map_err(|error| wrong("an image".into(), error.to_string()))?;
                    if !image.fits(*ty) {
                        return Err(wrong(
                            ty.to_string(),
                            format!("{} of {}", shape.opencl_type(), shape.extent),
                        ));
                    }
                    bound.images.push((index, image));
                    (Passed::Buffer(storage, bytes), vec![bound.images.len() as u64 - 1])
                }
                (ParameterKind::Value(Type::Sampler), Argument::Sampler(sampler)) => {
                    (Passed::Nothing, vec![sampler_bits(*sampler)])
                }
                (ParameterKind::Struct { object }, Argument::Bytes(bytes)) => {
                    let want = kernel.objects[*object].bytes();
                    if bytes.len() as u64 != want {
                        return Err(wrong(format!("{want} bytes"), format!("{} bytes", bytes.len())));
                    }
                    (Passed::Struct(bytes), vec![0])
                }
                (ParameterKind::Value(ty), Argument::Value(value)) if ty.scalar().is_some() => {
                    let want = ty.stored_bytes() as usize;
                    if value.bytes().len() != want || value.lanes() != usize::from(ty.lanes()) {
                        return Err(wrong(
                            format!("{} ({want} bytes)", parameter.type_name),
                            format!("{} ({} bytes)", value.opencl_name(), value.bytes().len()),
                        ));
                    }
                    let size = component_bytes(*ty) as usize;
                    let components = value.bytes().chunks_exact(size).take(usize::from(ty.lanes()));
                    let bits = components.map(|bytes| {
                        let mut bits = [0; 8];
                        bits[..size].copy_from_slice(bytes);
                        u64::from_le_bytes(bits)
                    });
                    (Passed::Nothing, bits.collect())
                }
                (kind, argument) => return Err(wrong(kind_name(kind), argument.to_string())),
            };
            bound.passed.push(passed);
            bound.values.push(value);
        }
        Ok(bound)
    }
}

struct Bound<'a> {
    passed: Vec<Passed<'a>>,
    values: Vec<Vec<u64>>,
    /// Indexed by argument.
    images: Vec<(usize, Image)>,
}

/// Extensions that phones offer and that the front end supports.
const EXTENSIONS: [&str; 8] = [
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_3d_image_writes",
    "cl_khr_byte_addressable_store",
    "cl_khr_subgroups",
    "cl_khr_integer_dot_product",
];

fn kind_name(kind: &ParameterKind) -> String {
    match kind {
        ParameterKind::Value(Type::Image(_)) => "an image".into(),
        ParameterKind::Value(Type::Sampler) => "a sampler".into(),
        ParameterKind::Value(ty) => format!("a value ({ty})"),
        ParameterKind::Pointer { space: Space::Local, .. } => "local memory".into(),
        ParameterKind::Pointer { .. } => "a buffer".into(),
        ParameterKind::Struct { .. } => "a struct by value".into(),
    }
}

fn sampler_bits(sampler: Sampler) -> u64 {
    let addressing = match sampler.addressing {
        tripipe_launch::Addressing::None => Addressing::None,
        tripipe_launch::Addressing::ClampToEdge => Addressing::ClampToEdge,
        tripipe_launch::Addressing::Clamp => Addressing::Clamp,
        tripipe_launch::Addressing::Repeat => Addressing::Repeat,
        tripipe_launch::Addressing::MirroredRepeat => Addressing::Mirror,
    };
    let linear = sampler.filter == Filter::Linear;
    SamplerBits { addressing, normalized: sampler.normalized, linear }.bits()
}

/// The source location of an instruction.
pub(crate) fn place_of(module: &Module, kernel: &Kernel, inst: tripipe_ir::Inst) -> Option<SourcePlace> {
    let place = kernel.places.get(kernel.insts.get(inst)?.place?)?;
    Some(SourcePlace {
        file: module.files.get(place.file)?.to_string(),
        line: place.line,
        column: place.column,
    })
}

/// The range in the form that groups use.
fn range(
    kernel: &Kernel,
    entry: &str,
    range: &NdRange,
    options: &Options,
    probe: &Probe,
) -> Result<Group, ExecuteError> {
    let refused =
        |reason: String| ExecuteError::Range { entry: entry.to_owned(), range: format!("{range:?}"), reason };
    let global = range.global_size();
    if global.contains(&0) || range.work_items().is_none_or(|items| items as u64 > 1 << 40) {
        return Err(refused("a global size has to be at least 1 and at most 2^40 work-items".into()));
    }
    let required = kernel.required_local_size.map(|size| size.map(|extent| extent as usize));
    let local = match (range.local_size(), required) {
        (Some(local), Some(required)) if local != required => {
            return Err(refused(format!(
                "the kernel requires groups of {}x{}x{}",
                required[0], required[1], required[2]
            )));
        }
        (Some(local), _) | (None, Some(local)) => local,
        (None, None) => choose_local(kernel, global),
    };
    let items = local.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
    if local.contains(&0) || items.is_none_or(|items| items > probe.max_work_group_size) {
        return Err(refused(format!("a work-group has 1 to {} work-items", probe.max_work_group_size)));
    }
    let sub_group = kernel.required_sub_group_size.unwrap_or(options.sub_group);
    if !sub_group.is_power_of_two() || sub_group > WIDTH as u32 {
        return Err(refused(format!("sub-groups of {sub_group}: a power of two up to {WIDTH} is offered")));
    }
    let wide = |sizes: [usize; 3]| sizes.map(|size| size as u64);
    Ok(Group {
        id: [0; 3],
        local: wide(local),
        enqueued_local: wide(local),
        groups: std::array::from_fn(|d| global[d].div_ceil(local[d]) as u64),
        global: wide(global),
        offset: wide(range.global_offset()),
        dimensions: range.dimensions() as u32,
        sub_group,
    })
}

/// The work-group size when the launch does not specify one: up to 256 work-items in a row, and a divisor of the
/// global size if the kernel can observe the difference.
fn choose_local(kernel: &Kernel, global: [usize; 3]) -> [usize; 3] {
    const LARGEST: usize = 256;
    let tells = kernel.insts.values().any(|inst| {
        matches!(inst.op, Op::Barrier { .. } | Op::AsyncCopy { .. } | Op::WaitEvents { .. } | Op::Group(_))
            || matches!(inst.op, Op::Query(query) if query.kind != tripipe_ir::op::QueryKind::GlobalId)
    }) || kernel.objects.values().any(|object| object.space == Space::Local);
    let x = if tells {
        (1..=LARGEST.min(global[0])).rev().find(|size| global[0].is_multiple_of(*size)).unwrap_or(1)
    } else {
        LARGEST.min(global[0])
    };
    [x, 1, 1]
}

impl Executor for Simulator {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let (bytes, row_pitch_bytes) = match kind {
            MemoryKind::Buffer { bytes } => (*bytes, 0),
            MemoryKind::Image(shape) => {
                shape.check().map_err(|error| ExecuteError::NotOffered {
                    what: error.to_string(),
                    device: self.probe.name.clone(),
                })?;
                (shape.bytes(), shape.extent.width() * shape.texel_bytes())
            }
            _ => {
                return Err(ExecuteError::NotOffered {
                    what: "this kind of memory".into(),
                    device: self.probe.name.clone(),
                });
            }
        };
        let used: u64 = self.storage.values().map(|storage| storage.bytes.len() as u64).sum();
        if bytes == 0 || used.checked_add(bytes as u64).is_none_or(|all| all > self.options.memory_bytes) {
            let reason = if bytes == 0 {
                "a memory object has at least one byte".to_owned()
            } else {
                format!("all objects together may have {} bytes, {used} are used", self.options.memory_bytes)
            };
            return Err(ExecuteError::OutOfMemory { bytes: bytes as u64, reason });
        }
        let contents = match initial {
            Some(initial) if initial.len() != bytes => {
                return Err(ExecuteError::OutOfMemory {
                    bytes: bytes as u64,
                    reason: format!("{} bytes of contents were given", initial.len()),
                });
            }
            Some(initial) => initial.to_vec(),
            None => vec![0; bytes],
        };
        let id = self.new_id();
        let written = initial.is_none().then(|| Bits::new(bytes));
        self.storage.insert(id, Storage { bytes: contents, written, owners: 1 });
        self.objects.insert(id, Object { kind: kind.clone(), access, storage: id, row_pitch_bytes });
        Ok(id)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        let refused = |reason: String| ExecuteError::Memory { memory: buffer, reason };
        let (storage, bytes) = self.bytes_of(buffer)?;
        let access = self.object(buffer)?.access;
        let row = shape.extent.width() * shape.texel_bytes();
        let rows = shape.extent.height() * shape.extent.slices();
        let needed = row_pitch_bytes.checked_mul(rows - 1).and_then(|all| all.checked_add(row));
        if row_pitch_bytes < row || needed.is_none_or(|needed| needed > bytes) {
            return Err(refused(format!(
                "rows of {row} bytes, {row_pitch_bytes} apart, {rows} of them, do not lie in {bytes} bytes"
            )));
        }
        let id = self.new_id();
        if let Some(storage) = self.storage.get_mut(&storage) {
            storage.owners += 1;
        }
        self.objects.insert(id, Object { kind: MemoryKind::Image(*shape), access, storage, row_pitch_bytes });
        Ok(id)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        self.objects.remove(&memory);
        if let Some(owned) = self.storage.get_mut(&storage) {
            owned.owners -= 1;
            if owned.owners == 0 {
                self.storage.remove(&storage);
            }
        }
        Ok(())
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        if let Some(storage) = self.storage.get_mut(&storage)
            && let Some(written) = &mut storage.written
            && offset.checked_add(bytes.len()).is_some_and(|end| end <= storage.bytes.len())
        {
            written.set(offset, bytes.len());
        }
        let all = self.storage.get_mut(&storage).map(|storage| &mut storage.bytes[..]).unwrap_or_default();
        let size = all.len();
        match offset.checked_add(bytes.len()).and_then(|end| all.get_mut(offset..end)) {
            Some(to) => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(ExecuteError::Memory {
                memory,
                reason: format!("{} bytes at {offset} are not inside its {size} bytes", bytes.len()),
            }),
        }
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        let storage = self.object(memory)?.storage;
        let all = self.storage.get(&storage).map(|storage| &storage.bytes[..]).unwrap_or_default();
        match offset.checked_add(into.len()).and_then(|end| all.get(offset..end)) {
            Some(from) => {
                into.copy_from_slice(from);
                Ok(())
            }
            None => Err(ExecuteError::Memory {
                memory,
                reason: format!("{} bytes at {offset} are not inside its {} bytes", into.len(), all.len()),
            }),
        }
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.code(program, entry, false)?;
        let loaded = self.load(program)?;
        let bytes = |wanted: Space| {
            loaded.module.kernel(entry).map_or(0, |kernel| {
                kernel
                    .objects
                    .values()
                    .filter(|object| object.space == wanted)
                    .map(tripipe_ir::ObjectData::bytes)
                    .sum()
            })
        };
        let (local_bytes, private_bytes) = (bytes(Space::Local), bytes(Space::Private));
        Ok(KernelFacts {
            max_work_group_size: self.probe.max_work_group_size,
            preferred_work_group_multiple: WIDTH,
            local_bytes,
            private_bytes,
        })
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        // Errors that can be detected up front are reported before anything runs.
        for launch in launches {
            self.code(&launch.program, &launch.entry, false)?;
        }
        self.reports.clear();
        let mut timings = Vec::with_capacity(launches.len());
        for launch in launches {
            let queued = self.epoch.elapsed().as_nanos() as u64;
            let report = self.launch(launch, None)?;
            let end = self.epoch.elapsed().as_nanos() as u64;
            let start = end.saturating_sub(report.elapsed.as_nanos() as u64).max(queued);
            self.reports.push(report);
            timings.push(Timing { queued_ns: queued, submit_ns: queued, start_ns: start, end_ns: end });
        }
        Ok(timings)
    }
}
