//! The simulator, an executor of launches.

mod binding;
mod device;
mod launch;
mod memory;
mod observed;
mod options;
mod outcome;
mod program;
mod range;
mod trace;

use std::sync::Arc;
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_device::drivers::Driver;
use tripipe_ir::{Kernel, ObjectData, Space};
use tripipe_launch::{
    Access, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Program, Timing,
};

use crate::drivers::{Subject, Suspicions};
use crate::execute::rows::WIDTH;
use memory::Objects;
use program::{Programs, Purpose};

pub use options::{Options, Prebuilt};
pub use outcome::{Checked, Report, RunError};

/// Runs launches without a GPU. This executor needs only the program.
pub struct Simulator {
    probe: Probe,
    options: Options,
    objects: Objects,
    programs: Programs,
    printed: Vec<u8>,
    strays: Vec<RunError>,
    epoch: Instant,
    reports: Vec<Report>,
}

impl Simulator {
    /// A simulator without memory objects.
    pub fn new(mut options: Options) -> Self {
        if let Some(gpu) = options.gpu {
            options.sub_group = gpu.core.warp_width.value.clamp(1, WIDTH as u32);
            options.build.offered.get_or_insert_with(|| gpu.opencl().clone());
        }
        // A sub-group must fit in a warp, or in several of the largest.
        if options.sub_group <= WIDTH as u32 {
            options.sub_group = options.sub_group.min(options.schedule.warp as u32);
        }
        Self {
            probe: device::probe(&options),
            objects: Objects::new(options.memory_bytes),
            options,
            programs: Programs::default(),
            printed: Vec::new(),
            strays: Vec::new(),
            epoch: Instant::now(),
            reports: Vec::new(),
        }
    }

    /// The output that kernels have printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// The first load outside of a buffer of each launch since the last call, of those that [`Options::tolerant`] let go
    /// on.
    pub fn take_strays(&mut self) -> Vec<RunError> {
        std::mem::take(&mut self.strays)
    }

    /// The reports of the launches of the last [`Executor::run`], one each.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// A kernel as it is run, built at the first call.
    ///
    /// # Errors
    /// As [`Executor::prepare`].
    pub fn kernel(&mut self, program: &Arc<Program>, entry: &str) -> Result<&Kernel, ExecuteError> {
        let loaded = self.programs.load(program, &self.options, &self.probe.name)?;
        loaded.code(program, entry, Purpose::Run)?;
        loaded.kernel(program, entry)
    }

    /// What a driver is known to do to a kernel.
    ///
    /// # Errors
    /// As [`Executor::prepare`].
    pub fn suspicions(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        driver: &Driver,
    ) -> Result<Suspicions, ExecuteError> {
        let loaded = self.programs.load(program, &self.options, &self.probe.name)?;
        let kernel = loaded.kernel(program, entry)?;
        Ok(Subject { module: &loaded.module, kernel, options: &program.options }.suspicions(driver))
    }

    /// Makes a memory object without bytes. Before a launch that uses it, [`Self::swap_bytes`] brings them, all of
    /// them; after it, the same call takes them back. Nothing is copied.
    pub fn adopt(&mut self, kind: &MemoryKind, access: Access) -> MemoryId {
        self.objects.adopt(kind, access)
    }

    /// Exchanges the bytes of a memory object of [`Self::adopt`], or of the one that it is a part of.
    ///
    /// # Errors
    /// Not this simulator's object.
    pub fn swap_bytes(&mut self, memory: MemoryId, bytes: &mut Vec<u8>) -> Result<(), ExecuteError> {
        self.objects.swap_bytes(memory, bytes)
    }

    /// Gives a buffer of [`Self::adopt`] the address at which the application has its bytes. Kernels then have that address
    /// as a pointer to it, and follow such pointers in memory to every buffer with an address that has its bytes when
    /// the launch runs. Addresses are below 2^47; buffers do not overlap.
    ///
    /// # Errors
    /// Not this simulator's object.
    pub fn set_address(&mut self, memory: MemoryId, address: u64) -> Result<(), ExecuteError> {
        self.objects.set_address(memory, address)
    }

    /// A part of a buffer, from `offset` on, as a memory object of its own. It keeps the buffer alive. Accesses outside
    /// of the part but inside of the buffer are not detected as errors.
    ///
    /// # Errors
    /// Not this simulator's object.
    pub fn sub_buffer(
        &mut self,
        buffer: MemoryId,
        offset: usize,
        bytes: usize,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.sub_buffer(buffer, offset, bytes, access)
    }

    /// Releases what was built of a program, and its program-scope variables. A later launch builds it again.
    pub fn release_program(&mut self, program: &Program) {
        self.programs.release(program);
    }

    /// The number of programs that were built and not released.
    pub fn programs(&self) -> usize {
        self.programs.len()
    }
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
        self.objects.allocate(kind, access, initial, &self.probe.name)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        self.objects.release(memory)
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.objects.write(memory, offset, bytes)
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.objects.read(memory, offset, into)
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        let kernel = self.kernel(program, entry)?;
        let bytes = |wanted: Space| {
            kernel.objects.values().filter(|object| object.space == wanted).map(ObjectData::bytes).sum()
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
            self.kernel(&launch.program, &launch.entry)?;
        }
        self.reports.clear();
        let mut timings = Vec::with_capacity(launches.len());
        for launch in launches {
            let queued = self.epoch.elapsed().as_nanos() as u64;
            let report = self.run_alone(launch, None)?;
            let end = self.epoch.elapsed().as_nanos() as u64;
            let start = end.saturating_sub(report.elapsed.as_nanos() as u64).max(queued);
            self.reports.push(report);
            timings.push(Timing { queued_ns: queued, submit_ns: queued, start_ns: start, end_ns: end });
        }
        Ok(timings)
    }
}
