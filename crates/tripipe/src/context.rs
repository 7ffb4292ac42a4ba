//! A context: a device, its queue, and the operations built for it.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tripipe_device::Probe;
use tripipe_kernels::gemm::Table;
use tripipe_launch::{Executor, MemoryId, ScalarType};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::background::Builds;
use crate::cpu::{self, MultiplyAdd, Threads};
use crate::explanation::{Arithmetic, Ceilings, Explanation};
use crate::host_queue::HostQueue;
use crate::kept::Kept;
use crate::line::Line;
use crate::operation::Bindings;
use crate::{Device, Error};

/// A device with its own queue. Vectors, matrices and images live in a context, and operations on them are queued
/// there. Cheap to clone; clones are the same context, and any number of threads may use it.
///
/// # Operations that fail
/// An operation that is refused returns the error from the call that requests it. One that fails later, when it runs,
/// is reported to
///
/// - the caller that waits for its [`Pending`](crate::Pending);
/// - every read of the memory that it was to write, until all of it is overwritten by another operation or by the host;
/// - likewise callers that wait for, or read the result of, an operation that read that memory, or that wrote only part
///   of it;
/// - the next call of [`Self::finish`], unless it was reported before.
///
/// The same holds whether a device, the CPU path, or the CPU path as a fallback for a device does the operation; the
/// fallback does not start when its inputs are invalid because of a failure. Memory that does not depend on a failed
/// operation can be read as before.
#[derive(Clone)]
pub struct Context {
    core: Arc<Core>,
    kept: Arc<KeptOperations>,
    table: Arc<OnceLock<Table>>,
}

/// The parts of a context that operations need. Operations are cached in the context, so they do not hold the context
/// itself.
pub(crate) struct Core {
    name: String,
    engine: Engine,
    line: Arc<Line>,
    measured: Mutex<Vec<(Arithmetic, Ceilings)>>,
    in_background: AtomicBool,
    falls_back_when_slower: AtomicBool,
    builds: Builds,
}

/// Operations that are ready to run.
#[derive(Default)]
pub(crate) struct KeptOperations {
    pub(crate) filters: Kept<crate::filter::Chained>,
    pub(crate) products: Kept<crate::gemm::GemmOperation>,
    pub(crate) simple: Kept<crate::simple::Simple>,
    pub(crate) maps: Kept<crate::elementwise::Mapped>,
}

/// What runs the operations.
pub(crate) enum Engine {
    /// The CPU path.
    Host(HostQueue),
    /// Something that runs kernels.
    Kernels(Box<Kernels>),
}

pub(crate) struct Kernels {
    pub(crate) probe: Probe,
    runner: Mutex<Runner>,
    /// The bindings of all plans.
    bindings: Mutex<Vec<Weak<Mutex<Bindings>>>>,
    /// The bindings over each piece of memory.
    bound: Mutex<HashMap<MemoryId, Vec<Weak<Mutex<Bindings>>>>>,
    /// Counts the runs of plans.
    runs: AtomicU64,
}

/// The fraction (1/16) of a device's memory that operations may retain between their runs, and the bytes that they may
/// retain in any case.
const SCRATCH_PART: u64 = 16;
const SCRATCH_BYTES: u64 = 64 << 20;

/// An executor; only the OpenCL kind can import memory.
pub(crate) enum Runner {
    OpenCl(Box<OpenClExecutor>),
    Other(Box<dyn Executor + Send>),
}

impl Deref for Runner {
    type Target = dyn Executor;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::OpenCl(executor) => &**executor,
            Self::Other(executor) => &**executor,
        }
    }
}

impl DerefMut for Runner {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::OpenCl(executor) => &mut **executor,
            Self::Other(executor) => &mut **executor,
        }
    }
}

impl Context {
    /// A context on `device`.
    ///
    /// # Errors
    /// The driver refuses a context or a queue; the device is gone.
    pub fn new(device: &Device) -> Result<Self, Error> {
        match device {
            Device::Cpu => Ok(Self::with(device.name(), Engine::Host(HostQueue::new()))),
            Device::OpenCl(opencl) => {
                Ok(Self::on_opencl(OpenClExecutor::new(opencl, &ExecutorOptions::default())?))
            }
        }
    }

    /// A context on an OpenCL device with custom options, or over an OpenCL context of the application.
    pub fn on_opencl(executor: OpenClExecutor) -> Self {
        Self::on(Runner::OpenCl(Box::new(executor)))
    }

    /// A context on any other executor of kernels, such as a simulated GPU.
    pub fn over(executor: impl Executor + Send + 'static) -> Self {
        Self::on(Runner::Other(Box::new(executor)))
    }

    fn on(runner: Runner) -> Self {
        let probe = runner.probe().clone();
        let name = probe.name.clone();
        let runner = Mutex::new(runner);
        let kernels = Kernels {
            probe,
            runner,
            bindings: Mutex::default(),
            bound: Mutex::default(),
            runs: AtomicU64::new(0),
        };
        Self::with(name, Engine::Kernels(Box::new(kernels)))
    }

    fn with(name: String, engine: Engine) -> Self {
        let core = Arc::new(Core {
            name,
            engine,
            line: Arc::default(),
            measured: Mutex::default(),
            in_background: AtomicBool::new(false),
            falls_back_when_slower: AtomicBool::new(true),
            builds: Builds::default(),
        });
        Self { core, kept: Arc::default(), table: Arc::default() }
    }

    /// The device's name for display.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The properties that the device reports; `None` for the CPU path.
    pub fn probe(&self) -> Option<&Probe> {
        self.core.probe()
    }

    /// Waits until all queued operations have ended.
    ///
    /// # Errors
    /// The first failure of an operation that was not reported yet, once.
    pub fn finish(&self) -> Result<(), Error> {
        self.core.finish()
    }

    /// The ceilings of the device for a type: as [measured](Self::measure_ceilings), otherwise those of the GPU's
    /// model. `None` for a device without a model that was not measured.
    pub fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        self.core.ceilings(arithmetic)
    }

    /// Measures the ceilings that explanations of operations in this type are compared with; takes about a second.
    ///
    /// # Errors
    /// The device does not offer the type, failed, or computed something wrong.
    pub fn measure_ceilings(&self, arithmetic: Arithmetic) -> Result<Ceilings, Error> {
        let element = match arithmetic {
            Arithmetic::F32 => ScalarType::F32,
            Arithmetic::F64 => ScalarType::F64,
            Arithmetic::F16 => ScalarType::F16,
            Arithmetic::I8 | Arithmetic::I16 => ScalarType::U8,
        };
        self.core.settle();
        let (operations_per_second, bytes_per_second, launch_seconds) = match &self.core.engine {
            Engine::Host(_) => {
                // The CPU path computes half precision in single precision, and bytes in 16 bits.
                let kind = match arithmetic {
                    Arithmetic::F32 | Arithmetic::F16 => MultiplyAdd::F32,
                    Arithmetic::F64 => MultiplyAdd::F64,
                    Arithmetic::I8 | Arithmetic::I16 => MultiplyAdd::I16,
                };
                let all = Threads::All;
                (cpu::multiply_add_rate(kind, all)?, cpu::copy_rate(all), 0.0)
            }
            Engine::Kernels(kernels) => {
                let mut executor = kernels.executor();
                let launch = tripipe_kernels::ceilings::launch_seconds(&mut **executor)?;
                let found = tripipe_kernels::ceilings::measure(&mut **executor, element)?;
                (found.operations_per_second, found.bytes_per_second, launch)
            }
        };
        let ceilings = Ceilings {
            operations_per_second,
            bytes_per_second,
            launch_seconds,
            from: "measured here".to_owned(),
        };
        let mut measured = lock(&self.core.measured);
        measured.retain(|(known, _)| *known != arithmetic);
        measured.push((arithmetic, ceilings.clone()));
        Ok(ceilings)
    }

    /// Whether both are the same context.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// Sets whether the device's own times are taken; the default is to take them. Without them an operation has less
    /// overhead before its start (6 us less on an NVIDIA H200), and [`Pending::seconds`] and explanations have no
    /// times. Waits for all queued operations.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn take_times(&self, times: bool) -> Result<(), Error> {
        self.finish()?;
        if let Engine::Kernels(kernels) = &self.core.engine {
            kernels.executor().take_times(times);
        }
        Ok(())
    }

    /// Sets whether kernels that are not built yet are built on another thread, for operations requested from now on;
    /// the default is no. Until they are built the CPU path does the operation on copies, and
    /// [`crate::Explanation::fallback`] says so. Products of packed operands still wait for their kernels: only these
    /// can read them. Dropping the context waits for builds in progress.
    pub fn build_in_background(&self, background: bool) {
        self.core.in_background.store(background, Ordering::Relaxed);
    }

    /// What the operations in this context's cache do, and why they do it that way: products, filters, elementwise
    /// operations, and the rest, the 1024 last used of each. Regions of one size at different offsets are one
    /// operation, and so are blocks of matrices. [`Explanation::fallback`] is set for operations left to the CPU path.
    pub fn explain(&self) -> Vec<Explanation> {
        let KeptOperations { filters, products, simple, maps } = self.kept();
        let products = products.all().into_iter().map(|product| product.explain());
        let filters = filters.all().into_iter().map(|filter| filter.explain());
        let maps = maps.all().into_iter().map(|map| map.explain());
        let simple = simple.all().into_iter().map(|simple| simple.explain());
        products.chain(filters).chain(maps).chain(simple).collect()
    }

    /// Sets whether the CPU path does operations that it does in clearly less time than the OpenCL device; the default
    /// is yes: a launch alone costs more than a small product. Operations that both do in milliseconds (at most 268 M
    /// operations and 32 MiB of operands) are tried on both when they are made, after everything queued so far, and the
    /// choice is then fixed; [`crate::Explanation::fallback`] says so. Sums of floating-point numbers may differ
    /// between the two in their last bits: pass `false` where every run of a program must give the same result.
    /// Operations made before are unchanged. Operations whose kernels are [built in the
    /// background](Self::build_in_background), products of packed operands and the work of a [`crate::Team`] always run
    /// on the device.
    pub fn fall_back_when_slower(&self, fall_back: bool) {
        self.core.falls_back_when_slower.store(fall_back, Ordering::Relaxed);
    }

    /// Parameters of products: the user's, from the folder that `TRIPIPE_TABLES` names, otherwise from `tripipe/gemm`
    /// in the folder for settings; they precede those that are shipped.
    ///
    /// # Errors
    /// A file of the user's that cannot be read, or is not a table.
    pub(crate) fn table(&self) -> Result<&Table, Error> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let folder = std::env::var_os("TRIPIPE_TABLES").map(PathBuf::from);
        let folder = folder.or_else(|| Some(dirs::config_dir()?.join("tripipe").join("gemm")));
        let table = Table::load(folder.as_deref())?;
        Ok(self.table.get_or_init(|| table))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.core.engine
    }

    pub(crate) fn kept(&self) -> &KeptOperations {
        &self.kept
    }
}

impl Core {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The background builds, if they are enabled.
    pub(crate) fn builds(&self) -> Option<&Builds> {
        self.in_background.load(Ordering::Relaxed).then_some(&self.builds)
    }

    pub(crate) fn probe(&self) -> Option<&Probe> {
        match &self.engine {
            Engine::Host(_) => None,
            Engine::Kernels(kernels) => Some(&kernels.probe),
        }
    }

    pub(crate) fn falls_back_when_slower(&self) -> bool {
        self.falls_back_when_slower.load(Ordering::Relaxed)
    }

    pub(crate) fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        let measured = lock(&self.measured);
        let known = measured.iter().find(|(known, _)| *known == arithmetic);
        known.map(|(_, ceilings)| ceilings.clone()).or_else(|| match &self.engine {
            Engine::Host(_) => None,
            Engine::Kernels(kernels) => Ceilings::of_model(&kernels.probe, arithmetic),
        })
    }

    /// The queued operations.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// Waits until all queued operations have ended, whether they succeeded or failed.
    pub(crate) fn settle(&self) {
        self.line.settle();
    }

    fn finish(&self) -> Result<(), Error> {
        self.settle();
        self.line.failure()
    }
}

impl Kernels {
    /// The executor, for as long as the guard is held. Waits for the device happen without it.
    pub(crate) fn executor(&self) -> MutexGuard<'_, Runner> {
        lock(&self.runner)
    }

    /// The bindings of a new plan; memory that is released is removed from them.
    pub(crate) fn bindings(&self) -> Arc<Mutex<Bindings>> {
        let made = Arc::default();
        let mut all = lock(&self.bindings);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        made
    }

    /// Records that `bindings` are over that memory.
    pub(crate) fn note_bound(&self, memory: &[MemoryId], bindings: &Arc<Mutex<Bindings>>) {
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
    pub(crate) fn next_run(&self) -> u64 {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }

    /// Frees memory of other plans, least recently run first, until `bytes` more fit the common limit.
    pub(crate) fn limit_scratch(&self, executor: &mut dyn Executor, bytes: usize) {
        let limit = (self.probe.global_memory_bytes / SCRATCH_PART).max(SCRATCH_BYTES);
        self.free_scratch(executor, limit.saturating_sub(bytes as u64));
    }

    /// Frees memory of plans, least recently run first, until at most `most` bytes are left. Plans that are being run
    /// are skipped.
    pub(crate) fn free_scratch(&self, executor: &mut dyn Executor, most: u64) {
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
    pub(crate) fn release(&self, memory: MemoryId) {
        // Bindings are locked before the executor, and only one at a time.
        let all = lock(&self.bound).remove(&memory).unwrap_or_default();
        for bindings in all.iter().filter_map(Weak::upgrade) {
            lock(&bindings).forget(memory, self);
        }
        // A device that is gone has freed everything.
        let _ = self.executor().release(memory);
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Context").field(&self.core.name).finish()
    }
}

/// The contents of a lock, even after a thread that held it panicked.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
