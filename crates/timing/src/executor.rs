//! A virtual GPU: an executor whose results are computed and whose times are predicted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tripipe_device::drivers::Quirk;
use tripipe_device::{Gpu, OpenCl, Probe, opencl};
use tripipe_ir::Kernel;
use tripipe_ir::front::clang;
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, ImageExtent, ImageShape, KernelFacts, Launch, MemoryId,
    MemoryKind, NdRange, Program, TimeSource, Timing,
};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Checked, Options as SimulatorOptions, Prebuilt, RunError, Simulator};

use crate::compiled::Compiled;
use crate::energy::energy;
use crate::figures::Figures;
use crate::local;
use crate::predict::{Options, Prediction, predict};
use crate::tape::Tape;

/// How a virtual GPU runs launches.
#[derive(Clone, Debug, Default)]
pub struct VirtualOptions {
    /// How times are predicted.
    pub prediction: Options,
    /// Whether launches are only timed: memory keeps its contents.
    pub time_only: bool,
    /// Finds the SPIR-V of programs that were built ahead of time, so that no compiler is needed.
    pub prebuilt: Option<Prebuilt>,
    /// What programs are built for, instead of what the GPU's newest driver offers.
    pub offered: Option<OpenCl>,
    /// The most instructions that a work-group may run while its path is recorded, counted once for all work-items that
    /// run them together, and that a thread of the host may run; `None` for the simulator's usual number.
    pub limit_steps: Option<u64>,
    /// Whether loads outside of buffers load zeros: [`SimulatorOptions::tolerant`].
    pub tolerant: bool,
    /// What a driver does wrong, on purpose: [`SimulatorOptions::inject`].
    pub inject: Option<&'static Quirk>,
    /// A changed copy of the GPU, for which times are predicted instead. The probe and its limits stay those of the
    /// GPU itself.
    pub changed: Option<Arc<Gpu>>,
}

/// What decides a prediction, if the kernel's path and addresses do not depend on the contents of memory.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    arguments: Vec<Argument>,
    range: NdRange,
}

/// A GPU that is not there.
///
/// [`Executor::run`] computes the results on the host's CPU and returns predicted times, on a timeline of its own that
/// starts at 0 and on which launches follow each other. The probe has the GPU's own limits and extensions.
pub struct VirtualGpu {
    gpu: &'static Gpu,
    probe: Probe,
    simulator: Simulator,
    options: VirtualOptions,
    /// End of the last launch on the timeline.
    now_ns: f64,
    predictions: Vec<Prediction>,
    /// Where launches are recorded, if anything is.
    tape: Option<Tape>,
    kernels: HashMap<(Arc<Program>, String), CompiledKernel>,
}

/// A compiled kernel, and the predictions of its launches.
struct CompiledKernel {
    compiled: Compiled,
    predictions: Vec<(Key, Prediction)>,
}

impl VirtualGpu {
    /// A virtual GPU without memory objects.
    pub fn new(gpu: &'static Gpu, options: VirtualOptions) -> Self {
        let build = clang::Build {
            optimization: clang::Optimization::Driver,
            cache: clang::Cache::from_environment(),
            offered: options.offered.clone(),
            ..clang::Build::default()
        };
        let figures = Figures::of(gpu);
        let simulator = Simulator::new(SimulatorOptions {
            gpu: Some(gpu),
            build,
            prebuilt: options.prebuilt,
            tolerant: options.tolerant,
            inject: options.inject,
            steps: options.limit_steps.unwrap_or(SimulatorOptions::default().steps),
            memory_bytes: (figures.memory_gib * f64::from(1 << 30)) as u64,
            ..SimulatorOptions::default()
        });
        let memory = simulator.probe().global_memory_bytes;
        let probe = Probe {
            platform: "Tripipe".into(),
            name: format!("{} (predicted)", gpu.name()),
            driver: env!("CARGO_PKG_VERSION").into(),
            global_memory_bytes: memory,
            max_buffer_bytes: memory / opencl::limits().buffer_divisor,
            ..gpu.expected_probe()
        };
        let tape = Tape::of(&probe.name);
        let (now_ns, predictions, kernels) = (0.0, Vec::new(), HashMap::new());
        Self { gpu, probe, simulator, options, now_ns, predictions, tape, kernels }
    }

    /// The GPU.
    pub fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// The GPU that times are predicted for: the changed one, if there is one.
    fn played(&self) -> &Gpu {
        self.options.changed.as_deref().unwrap_or(self.gpu)
    }

    /// The predictions of the launches of the last [`Executor::run`] or [`Self::predict`], one each.
    pub fn predictions(&self) -> &[Prediction] {
        &self.predictions
    }

    /// Releases what was built of a program: [`Simulator::release_program`].
    pub fn release_program(&mut self, program: &Program) {
        self.simulator.release_program(program);
        self.kernels.retain(|(known, _), _| **known != *program);
    }

    /// The number of programs that were built and not released.
    pub fn programs(&self) -> usize {
        self.simulator.programs()
    }

    /// Loads outside of buffers since the last call: [`Simulator::take_strays`].
    pub fn take_strays(&mut self) -> Vec<RunError> {
        self.simulator.take_strays()
    }

    /// Whether a kernel may write through each of its arguments: [`Simulator::written_arguments`].
    ///
    /// # Errors
    /// As [`Executor::prepare`].
    pub fn written_arguments(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
    ) -> Result<Vec<bool>, ExecuteError> {
        self.simulator.written_arguments(program, entry)
    }

    /// The output that kernels have printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        self.simulator.take_printed()
    }

    /// A kernel, compiled at the first call.
    fn compiled_kernel(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
    ) -> Result<&mut CompiledKernel, ExecuteError> {
        let key = (Arc::clone(program), entry.to_owned());
        Ok(match self.kernels.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                // A field instead of `played()`, which would borrow the simulator and `kernels` too.
                let gpu = self.options.changed.as_deref().unwrap_or(self.gpu);
                let compiled = Compiled::new(gpu, self.simulator.kernel(program, entry)?)?;
                place.insert(CompiledKernel { compiled, predictions: Vec::new() })
            }
        })
    }

    /// A kernel as it is run: [`Simulator::kernel`].
    ///
    /// # Errors
    /// As [`Executor::prepare`].
    pub fn kernel(&mut self, program: &Arc<Program>, entry: &str) -> Result<&Kernel, ExecuteError> {
        self.simulator.kernel(program, entry)
    }

    /// A kernel as compiled for the GPU.
    ///
    /// # Errors
    /// As [`Executor::prepare`].
    pub fn compiled(&mut self, program: &Arc<Program>, entry: &str) -> Result<&Compiled, ExecuteError> {
        Ok(&self.compiled_kernel(program, entry)?.compiled)
    }

    /// Predicts other code for a kernel: that of `change`, which has the kernel and its code.
    ///
    /// # Errors
    /// As [`Executor::prepare`] and [`Compiled::new`].
    pub fn recompile(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        change: impl FnOnce(&Kernel, &Gpu, Compiled) -> Result<Compiled, ExecuteError>,
    ) -> Result<(), ExecuteError> {
        let before = self.compiled_kernel(program, entry)?.compiled.clone();
        let gpu = self.options.changed.as_deref().unwrap_or(self.gpu);
        let compiled = change(self.simulator.kernel(program, entry)?, gpu, before)?;
        // Earlier predictions are of other code.
        let known = CompiledKernel { compiled, predictions: Vec::new() };
        self.kernels.insert((Arc::clone(program), entry.to_owned()), known);
        Ok(())
    }

    /// The range of a launch with its work-group size: the launch's own, the one that the kernel requires, or the one
    /// that the driver chooses.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; [`ExecuteError::Range`]: the kernel cannot run in work-groups of that size, or the GPU
    /// wants a global size that is a multiple of it.
    pub fn with_local(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        range: NdRange,
    ) -> Result<NdRange, ExecuteError> {
        let most = self.compiled_kernel(program, entry)?.compiled.most_items;
        let required = self.simulator.kernel(program, entry)?.required_local_size;
        let global = range.global_size();
        let [x, y, z] = match (range.local_size(), required) {
            (Some(local), _) => local,
            (None, Some(required)) => required.map(|extent| extent as usize),
            (None, None) => {
                let global = global.map(|extent| extent as u64);
                local::choose(self.played(), global, u64::from(most)).map(|extent| extent as usize)
            }
        };
        let range = range.local(x, y, z);
        let refused =
            |reason| ExecuteError::Range { entry: entry.to_owned(), range: format!("{range:?}"), reason };
        let name = self.gpu.name();
        let items = [x, y, z].iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        // How many registers a driver's compiler uses is a guess, which refuses nothing.
        let limit = self.gpu.core.max_work_group_size.value;
        if items.is_none_or(|items| items > limit as usize) {
            return Err(refused(format!("a work-group has at most {limit} work-items on {name}")));
        }
        let uneven = global.iter().zip([x, y, z]).any(|(global, local)| local > 0 && global % local > 0);
        let options = || program.options.iter().map(String::as_str);
        if uneven && !self.probe.non_uniform_work_groups && !self.probe.allows_arms_non_uniform(options()) {
            return Err(refused(format!(
                "on {name} (OpenCL 1.2) each extent must be a multiple of the work-group's"
            )));
        }
        Ok(range)
    }

    /// Makes a memory object without bytes: [`Simulator::adopt`].
    ///
    /// # Errors
    /// As [`Executor::allocate`].
    pub fn adopt(&mut self, kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError> {
        if let MemoryKind::Image(shape) = kind {
            self.check(shape)?;
        }
        Ok(self.simulator.adopt(kind, access))
    }

    /// Exchanges the bytes of a memory object: [`Simulator::swap_bytes`].
    ///
    /// # Errors
    /// Not this executor's object.
    pub fn swap_bytes(&mut self, memory: MemoryId, bytes: &mut Vec<u8>) -> Result<(), ExecuteError> {
        self.simulator.swap_bytes(memory, bytes)
    }

    /// Sets the application's address of a buffer: [`Simulator::set_address`].
    ///
    /// # Errors
    /// Not this executor's object.
    pub fn set_address(&mut self, memory: MemoryId, address: u64) -> Result<(), ExecuteError> {
        self.simulator.set_address(memory, address)
    }

    /// A part of a buffer: [`Simulator::sub_buffer`].
    ///
    /// # Errors
    /// Not this executor's object.
    pub fn sub_buffer(
        &mut self,
        buffer: MemoryId,
        offset: usize,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        self.simulator.sub_buffer(buffer, offset, bytes, access)
    }

    /// Runs a launch without predicting its time, which takes longer than the launch itself if it is small. It is not
    /// recorded either.
    ///
    /// # Errors
    /// As [`Executor::run`].
    pub fn run_untimed(&mut self, launch: &Launch) -> Result<(), ExecuteError> {
        let launch = self.with_range(launch)?;
        if !self.options.time_only {
            self.simulator.run(&[launch])?;
        }
        Ok(())
    }

    /// Predicts the time of a launch, and records it. Memory keeps its contents.
    ///
    /// # Errors
    /// As [`Executor::run`].
    pub fn predict(&mut self, launch: &Launch) -> Result<&Prediction, ExecuteError> {
        let launch = self.with_range(launch)?;
        self.predictions.clear();
        let begin = self.tape.map(Tape::begin);
        let prediction = self.prediction(&launch)?;
        self.append(&launch, begin, prediction);
        Ok(&self.predictions[0])
    }

    /// Predicts the time of a launch, and computes the results of the work-groups that the prediction runs. Returns
    /// whether the kernel may have left undefined bytes in the memory of each argument: those of the other work-groups.
    ///
    /// # Errors
    /// As [`Executor::run`].
    pub fn run_sample(&mut self, launch: &Launch) -> Result<Vec<bool>, ExecuteError> {
        let prediction = self.predict(launch)?;
        let (ran, groups) = (Arc::clone(&prediction.ran), prediction.groups);
        let launch = self.with_range(launch)?;
        self.simulator.run_groups(&launch, &ran)?;
        let written = self.simulator.written_arguments(&launch.program, &launch.entry)?;
        let complete = ran.len() as u64 == groups;
        Ok(written.into_iter().map(|written| written && !complete).collect())
    }

    /// Runs a launch with checks: [`Simulator::check`]. It is not timed.
    ///
    /// # Errors
    /// As [`Executor::run`]; findings are not errors.
    pub fn run_checked(&mut self, launch: &Launch, checks: &Checks) -> Result<Checked, ExecuteError> {
        let launch = self.with_range(launch)?;
        self.simulator.check(&launch, checks)
    }

    /// A launch with its work-group size: [`Self::with_local`].
    fn with_range(&mut self, launch: &Launch) -> Result<Launch, ExecuteError> {
        let range = self.with_local(&launch.program, &launch.entry, launch.range)?;
        Ok(Launch { range, ..launch.clone() })
    }

    /// Whether the GPU supports images of this extent.
    fn check(&self, shape: &ImageShape) -> Result<(), ExecuteError> {
        let lacks = |what: String| ExecuteError::NotOffered { what, device: self.gpu.name().to_owned() };
        let limits = self.probe.images.ok_or_else(|| lacks("images".to_owned()))?;
        let [width, height] = limits.max_2d;
        let [wide, high, deep] = limits.max_3d;
        let layers = limits.max_layers;
        let most = match shape.extent {
            ImageExtent::D1 { .. } => ImageExtent::D1 { width },
            ImageExtent::Buffer { .. } => ImageExtent::Buffer { width: limits.max_1d_buffer },
            ImageExtent::D1Array { .. } => ImageExtent::D1Array { width, layers },
            ImageExtent::D2 { .. } => ImageExtent::D2 { width, height },
            ImageExtent::D2Array { .. } => ImageExtent::D2Array { width, height, layers },
            ImageExtent::D3 { .. } => ImageExtent::D3 { width: wide, height: high, depth: deep },
        };
        let own = shape.extent;
        if own.width() > most.width() || own.height() > most.height() || own.slices() > most.slices() {
            return Err(lacks(format!("an image of {own}; the limit is {most}")));
        }
        Ok(())
    }

    /// Appends a launch to the timeline, and records it from `begin` on.
    fn append(&mut self, launch: &Launch, begin: Option<u64>, prediction: Prediction) -> Timing {
        let queued = self.now_ns;
        let start = queued + prediction.launch_seconds * 1e9;
        self.now_ns = start + prediction.seconds * 1e9;
        if let (Some(tape), Some(begin_ns)) = (&mut self.tape, begin) {
            tape.record(&launch.entry, begin_ns, &prediction);
        }
        self.predictions.push(prediction);
        Timing {
            queued_ns: queued as u64,
            submit_ns: queued as u64,
            start_ns: start as u64,
            end_ns: (self.now_ns as u64).max(start as u64 + 1),
        }
    }

    /// The prediction of a launch, which may be one that was made before.
    fn prediction(&mut self, launch: &Launch) -> Result<Prediction, ExecuteError> {
        let key = Key { arguments: launch.arguments.clone(), range: launch.range };
        let known = self.compiled_kernel(&launch.program, &launch.entry)?;
        if let Some((_, prediction)) = known.predictions.iter().find(|(other, _)| *other == key) {
            return Ok(prediction.clone());
        }
        let mut compiled = known.compiled.clone();
        let gpu = self.options.changed.as_deref().unwrap_or(self.gpu);
        let items = launch.range.local_size().unwrap_or([1; 3]).iter().product::<usize>() as u32;
        let modelled_limit = (items > compiled.most_items).then_some(compiled.most_items);
        if modelled_limit.is_some() {
            compiled =
                Compiled::for_group(gpu, self.simulator.kernel(&launch.program, &launch.entry)?, items)?;
        }
        let prediction = predict(&mut self.simulator, launch, gpu, &compiled, &self.options.prediction)?;
        let prediction = Prediction { modelled_limit, ..prediction };
        // Otherwise memory may have other contents the next time, and the launch another path.
        if !compiled.depends_on_memory {
            let known = self.compiled_kernel(&launch.program, &launch.entry)?;
            known.predictions.push((key, prediction.clone()));
        }
        Ok(prediction)
    }
}

impl Executor for VirtualGpu {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    /// An estimate, if predictions are made with their activity and the GPU's counters have published costs.
    fn joules(&self) -> Option<f64> {
        self.predictions.iter().map(|own| Some(energy(self.played(), own)?.joules)).sum()
    }

    fn time_source(&self) -> TimeSource {
        TimeSource::Predicted { executes: !self.options.time_only }
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        if let MemoryKind::Image(shape) = kind {
            self.check(shape)?;
        }
        self.simulator.allocate(kind, access, initial)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.check(shape)?;
        self.simulator.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        self.simulator.release(memory)
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.simulator.write(memory, offset, bytes)
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.simulator.read(memory, offset, into)
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        let facts = self.simulator.prepare(program, entry)?;
        let most = self.compiled_kernel(program, entry)?.compiled.most_items;
        Ok(KernelFacts {
            max_work_group_size: most as usize,
            preferred_work_group_multiple: self.gpu.core.preferred_work_group_multiple.value as usize,
            ..facts
        })
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        // Errors that can be detected up front are reported before anything runs.
        let mut ready = Vec::with_capacity(launches.len());
        for launch in launches {
            ready.push(self.with_range(launch)?);
        }
        self.predictions.clear();
        let mut timings = Vec::with_capacity(launches.len());
        for launch in &ready {
            let begin = self.tape.map(Tape::begin);
            // Before the launch runs: it may change the memory that decides its path.
            let prediction = self.prediction(launch)?;
            if !self.options.time_only {
                self.simulator.run(std::slice::from_ref(launch))?;
            }
            timings.push(self.append(launch, begin, prediction));
        }
        Ok(timings)
    }
}
