//! A launch of a kernel whose time is predicted: from a launch file, or guessed as `tripipe template` does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, anyhow};
use tripipe_analyze::Effect;
use tripipe_device::Gpu;
use tripipe_improve::Subject;
use tripipe_ir::Kernel;
use tripipe_launch::{ExecuteError, Executor as _, ImageShape, NdRange};
use tripipe_launch_file::{self as launch_file, Contents, Given, LaunchFile, Limits, Loaded, MemoryShape};
use tripipe_report::bytes;
use tripipe_report::simulation::{LocalBy, Predicted};
use tripipe_simulate::RunError;
use tripipe_timing::{Compiled, Options, Prediction, VirtualGpu, VirtualOptions, depends_on_memory};

use super::options::with_local;
use super::{Description, DriverBuild, LaunchTemplate};
use crate::commands::note;

/// Guessed buffers grow, while the kernel accesses elements behind their ends, up to this number of bytes together.
pub(super) const GUESS_MOST: u64 = 1 << 30;

/// Most instructions that a work-group may run by default, counted once for all work-items that run them together.
pub(crate) const LIMIT_STEPS: u64 = 10_000_000;

/// A change of a launch, for one prediction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    /// A changed copy of the GPU.
    pub(crate) gpu: Option<Arc<Gpu>>,
    /// Another work-group size; empty if unchanged.
    pub(crate) local: Vec<usize>,
    /// What advice changes.
    pub(crate) effect: Option<Effect>,
}

/// A predicted launch.
pub(crate) struct Timed {
    pub(crate) prediction: Prediction,
    /// Bytes of registers that a work-item spills.
    pub(crate) spill_bytes: u32,
    /// Who chose the work-group size.
    pub(crate) local_by: LocalBy,
}

impl From<Timed> for Predicted {
    fn from(timed: Timed) -> Self {
        let Timed { prediction, spill_bytes, local_by } = timed;
        Self { prediction, spill_bytes, local_by, counters: None, energy: None, what_if: Vec::new() }
    }
}

/// A launch of a kernel.
pub(crate) struct Workload<'d> {
    description: &'d Description,
    build: &'d DriverBuild,
    kernel: &'d Kernel,
    /// The most instructions that a work-group may run.
    limit_steps: u64,
    pub(super) range: NdRange,
    /// The arguments of a launch file, with their contents.
    loaded: OnceLock<Loaded>,
    /// How many times as many elements guessed buffers have as the template says.
    growth: AtomicUsize,
    /// Whether it was said that the kernel loads from outside of a buffer.
    strayed: OnceLock<()>,
}

impl<'d> Workload<'d> {
    /// The launch of a kernel of a build of `description`; a work-group runs at most `limit_steps` instructions.
    ///
    /// # Errors
    /// Neither a launch file nor the command line gives a global size; a size is not possible.
    pub(crate) fn new(
        description: &'d Description,
        build: &'d DriverBuild,
        kernel: &'d Kernel,
        limit_steps: u64,
    ) -> Result<Self> {
        let range = description.range().and_then(|range| {
            range.ok_or_else(|| {
                anyhow!(
                    "its launch is not known; give --global, such as --global 1920,1080, or a launch file \
                    (`tripipe template` writes one)"
                )
            })
        });
        let range = range.with_context(|| format!("kernel `{}`", kernel.name))?;
        let (loaded, growth, strayed) = (OnceLock::new(), AtomicUsize::new(1), OnceLock::new());
        Ok(Self { description, build, kernel, limit_steps, range, loaded, growth, strayed })
    }

    /// The kernel.
    pub(crate) fn kernel(&self) -> &'d Kernel {
        self.kernel
    }

    /// The most instructions that a work-group may run.
    pub(crate) fn limit_steps(&self) -> u64 {
        self.limit_steps
    }

    /// Work-items in each dimension.
    pub(crate) fn global(&self) -> [u64; 3] {
        self.range.global_size().map(|extent| extent as u64)
    }

    /// Whether its memory is guessed.
    pub(crate) fn is_guessed(&self) -> bool {
        !self.description.has_launch()
    }

    /// Predicts its time.
    ///
    /// # Errors
    /// The GPU cannot run it.
    pub(crate) fn predict(&self, gpu: &'static Gpu, trial: &Trial, options: &Options) -> Result<Timed> {
        let mut growth = self.growth.load(Ordering::Relaxed);
        loop {
            let attempt = self.attempt(gpu, trial, options, growth);
            match attempt {
                Err(error) if self.is_guessed() && is_fault(&error) => {
                    growth *= 2;
                    let grown = described_bytes(&self.guess(self.range, growth)?);
                    if grown.is_none_or(|bytes| bytes > GUESS_MOST) {
                        return Err(error.context("the guessed memory does not suit it; write a launch file"));
                    }
                }
                attempt => {
                    self.growth.fetch_max(growth, Ordering::Relaxed);
                    return attempt;
                }
            }
        }
    }

    fn attempt(&self, gpu: &'static Gpu, trial: &Trial, options: &Options, growth: usize) -> Result<Timed> {
        let mut device = VirtualGpu::new(
            gpu,
            VirtualOptions {
                prediction: options.clone(),
                time_only: true,
                limit_steps: Some(self.limit_steps),
                changed: trial.gpu.clone(),
                // A GPU goes on. Guessed memory grows instead.
                tolerant: !self.is_guessed(),
                ..VirtualOptions::default()
            },
        );
        let (program, entry) = (&self.build.built.program, &self.kernel.name);
        let range = match &trial.local[..] {
            [] => self.range,
            local => with_local(self.range, local)?,
        };
        let (range, factor) = match &trial.effect {
            Some(effect) => self.follow(effect, &mut device, range)?,
            None => (range, 1.0),
        };
        let local_by = match (range.local_size(), self.kernel.required_local_size) {
            (_, Some(_)) => LocalBy::Kernel,
            (Some(_), None) => LocalBy::Launch,
            (None, None) => LocalBy::Driver,
        };
        let range = device.with_local(program, entry, range)?;
        let room = device.probe().global_memory_bytes;
        let check = |needed: Option<u64>| match needed {
            Some(needed) if needed <= room => Ok(()),
            needed => {
                let needed = needed.map_or_else(|| "more than 2^64 bytes".to_owned(), bytes);
                Err(anyhow!(
                    "its buffers and images have {needed}; {} offers {} to programs",
                    gpu.name(),
                    bytes(room)
                ))
            }
        };
        let loaded = if self.is_guessed() {
            let file = self.guess(range, growth)?;
            check(described_bytes(&file))?;
            self.description.load_file(&file, &self.build.built, Limits { bytes: room })?
        } else {
            let loaded = self.loaded()?;
            check(
                loaded
                    .memory
                    .iter()
                    .try_fold(0u64, |all, memory| all.checked_add(memory.array.bytes()? as u64)),
            )?;
            loaded.clone()
        };
        let loaded = Loaded { range, ..loaded };
        let staged = loaded.stage(&mut device, Arc::clone(program))?;
        device.run(std::slice::from_ref(&staged.launch))?;
        if let Some(stray) = device.take_strays().first()
            && trial.effect.is_none()
            && self.strayed.set(()).is_ok()
        {
            note(&format!("{stray}; zeros are loaded there, and `tripipe check` finds all such errors"));
        }
        let prediction = device.predictions().first().cloned();
        let mut prediction = prediction.ok_or_else(|| anyhow!("nothing was predicted"))?;
        prediction.seconds *= factor;
        let spill_bytes = device.compiled(program, entry)?.code.work.spill_bytes;
        Ok(Timed { prediction, spill_bytes, local_by })
    }

    /// The launch as rewrites see it; `local` is the size of its work-groups, whoever chooses it.
    ///
    /// # Errors
    /// The program is not OpenCL C; an option does not suit it.
    pub(super) fn subject(&self, local: [u64; 3]) -> Result<Subject> {
        if !self.is_guessed() {
            return self.description.subject_of(self.kernel, self.description.file.clone());
        }
        let [x, y, z] = local.map(|side| side as usize);
        let guess = self.guess(self.range.local(x, y, z), self.growth.load(Ordering::Relaxed))?;
        self.description.subject_of(self.kernel, LaunchFile { range: self.range, ..guess })
    }

    /// The program and the launch that it is predicted for.
    pub(super) fn description(&self) -> &'d Description {
        self.description
    }

    /// Follows advice: other code, or another range. Has the range, and what the time of that range is multiplied by.
    fn follow(&self, effect: &Effect, device: &mut VirtualGpu, range: NdRange) -> Result<(NdRange, f64)> {
        let (program, entry) = (&self.build.built.program, &self.kernel.name);
        let resized = |global: [usize; 3]| {
            let [x, y, z] = global;
            let resized = match range.dimensions() {
                1 => NdRange::d1(x),
                2 => NdRange::d2(x, y),
                _ => NdRange::d3(x, y, z),
            };
            let [x, y, z] = range.global_offset();
            let resized = resized.offset(x, y, z);
            range.local_size().map_or(resized, |[x, y, z]| resized.local(x, y, z))
        };
        match effect {
            Effect::Kernel(changed) => {
                device.recompile(program, entry, |_, gpu, _| Compiled::new(gpu, changed))?;
                Ok((range, 1.0))
            }
            Effect::Work(work) => {
                let times =
                    |inst| work.iter().find(|(other, _)| *other == inst).map_or(1.0, |(_, times)| *times);
                device.recompile(program, entry, |_, _, code| {
                    Ok(code.with_work(|inst| inst.map_or(1.0, times)))
                })?;
                Ok((range, 1.0))
            }
            Effect::Launch { global, factor } => Ok((resized(global.map(|extent| extent as usize)), *factor)),
        }
    }

    /// The arguments of the launch file, loaded at the first call.
    fn loaded(&self) -> Result<&Loaded> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let mut file = self.description.file.clone();
        file.forget_results();
        file.kernel = Some(self.kernel.name.clone());
        let names: Vec<&str> =
            self.kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        self.description.options.adjust(&mut file, &self.kernel.name, &names)?;
        let loaded = self.description.load_file(&file, &self.build.built, Limits::default())?;
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// A launch file for the kernel, with `growth` times as many elements in each buffer as the template has.
    fn guess(&self, range: NdRange, growth: usize) -> Result<LaunchFile> {
        let global = &range.global_size()[..range.dimensions()];
        let local = range.local_size().unwrap_or([1; 3]);
        let template = LaunchTemplate::over(self.kernel, global, &self.description.options.arguments)?;
        let template = template.with_local(&local[..range.dimensions()])?.grown(growth);
        let text = template.text(&self.description.file.source, "");
        let mut file = launch_file::parse(&text, &format!("the guessed launch of `{}`", self.kernel.name))?;
        // Contents cost time, and decide nothing unless addresses or branches depend on them.
        let depends = depends_on_memory(self.kernel);
        for entry in &mut file.arguments {
            if let Given::Memory(memory) = &mut entry.given
                && !depends
            {
                memory.contents = Contents::Unwritten;
            }
        }
        Ok(file)
    }
}

/// Whether a kernel did something undefined, such as an access outside a buffer.
fn is_fault(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_fault_of_kernel))
}

/// Whether a kernel did something undefined.
pub(crate) fn is_fault_of_kernel(error: &ExecuteError) -> bool {
    let ExecuteError::Backend { source, .. } = error else { return false };
    matches!(source.downcast_ref(), Some(RunError::Fault { .. }))
}

/// Bytes of all memory objects of known size; `None` on overflow.
pub(super) fn described_bytes(file: &LaunchFile) -> Option<u64> {
    file.arguments.iter().try_fold(0u64, |all, entry| {
        let Given::Memory(memory) = &entry.given else { return Some(all) };
        let bytes = match &memory.shape {
            MemoryShape::Buffer { element, extents: Some(extents) } => {
                extents.iter().try_fold(element.bytes(), |all, extent| all.checked_mul(*extent))?
            }
            MemoryShape::Image { extent: Some(extent), order, channel } => {
                ImageShape { extent: *extent, order: *order, channel: *channel }.bytes()
            }
            _ => 0,
        };
        all.checked_add(bytes as u64)
    })
}
