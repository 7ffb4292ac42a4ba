//! A context: a device, its queue, and what was built for it.

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
use crate::explanation::{Arithmetic, Ceilings, Explanation};
use crate::host_queue::HostQueue;
use crate::kept::Kept;
use crate::line::Line;
use crate::operation::Bindings;
use crate::{Device, Error, peaks};

/// A device with a queue of its own. Vectors, matrices and images live in a context, and operations on them are queued
/// there. Cheap to clone; clones are the same context, and any number of threads may use it.
///
/// # Operations that fail
/// An operation that is refused says so in the call that asks for it. One that fails later, when it runs, is told of to
///
/// - whoever waits for its [`Pending`](crate::Pending);
/// - whoever reads the memory it was to write, each time, until all of it is overwritten by another operation or by the host;
/// - likewise whoever waits for, or reads the result of, an operation that read that memory, or that wrote only part of it;
/// - whoever calls [`Self::finish`] next, unless somebody was told before.
///
/// The same holds whoever does the operation: a device, the CPU path, or the CPU path in a device's place, which does not begin with what is
/// not there. Memory that has nothing to do with a failed operation can be read as before.
#[derive(Clone)]
pub struct Context {
    core: Arc<Core>,
    kept: Arc<KeptOperations>,
    table: Arc<OnceLock<Table>>,
}

/// What operations need of a context. They are kept in it, so they do not hold the context itself.
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

/// Who does the work.
pub(crate) enum Engine {
    /// The CPU path.
    Host(HostQueue),
    /// Whoever runs kernels.
    Kernels(Box<Kernels>),
}

pub(crate) struct Kernels {
    pub(crate) probe: Probe,
    runner: Mutex<Runner>,
    /// Those of all plans.
    bindings: Mutex<Vec<Weak<Mutex<Bindings>>>>,
    /// Those that are over a piece of memory.
    bound: Mutex<HashMap<MemoryId, Vec<Weak<Mutex<Bindings>>>>>,
    /// Counts the runs of plans.
    runs: AtomicU64,
}

/// The part of a device's memory that operations may keep between their runs, and what they may keep in any case.
const SCRATCH_PART: u64 = 16;
const SCRATCH_BYTES: u64 = 64 << 20;

/// An executor, of which one kind can take in memory that others made.
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

    /// A context on an OpenCL device with options of its own, or over an OpenCL context that the application has.
    pub fn on_opencl(executor: OpenClExecutor) -> Self {
        Self::on(Runner::OpenCl(Box::new(executor)))
    }

    /// A context on anything else that runs kernels, such as a simulated GPU.
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

    /// The device's name as a person knows it.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// What the device says of itself; nothing for the CPU path.
    pub fn probe(&self) -> Option<&Probe> {
        self.core.probe()
    }

    /// Waits until all that was queued has ended.
    ///
    /// # Errors
    /// Operations failed and nobody was told: the first of them, once.
    pub fn finish(&self) -> Result<(), Error> {
        self.core.finish()
    }

    /// What the device can do at the most in a type: as it was [measured](Self::measure_ceilings), else by the GPU's model. Nothing
    /// for a device without a model that was not measured.
    pub fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        self.core.ceilings(arithmetic)
    }

    /// Measures the ceilings that explanations of operations in this type are held against, in about a second.
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
        let (found, launch_seconds) = match &self.core.engine {
            Engine::Host(_) => (peaks::ceilings(element)?, 0.0),
            Engine::Kernels(kernels) => {
                let mut executor = kernels.executor();
                let launch = tripipe_kernels::peaks::launch_seconds(&mut **executor)?;
                (tripipe_kernels::peaks::ceilings(&mut **executor, element)?, launch)
            }
        };
        let ceilings = Ceilings {
            operations_per_second: found.operations_per_second,
            bytes_per_second: found.bytes_per_second,
            launch_seconds,
            from: "measured here".to_owned(),
        };
        let mut measured = lock(&self.core.measured);
        measured.retain(|(known, _)| *known != arithmetic);
        measured.push((arithmetic, ceilings.clone()));
        Ok(ceilings)
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// Whether the device's own times are taken, as they are when nothing is said. Without them an operation costs less ahead of
    /// its start (6 us less on an NVIDIA H200), and [`Pending::seconds`] and explanations have none. Waits for all that was
    /// queued.
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

    /// Whether kernels that are not built yet are built on another thread, in operations that are asked for from now on; they are not
    /// when nothing is said. Until they are built the CPU path does the operation on copies, and [`crate::Explanation::fallback`] says so.
    /// Products of packed operands wait for their kernels all the same: only these can read them. Dropping the context waits for the
    /// builds that are under way.
    pub fn build_in_background(&self, background: bool) {
        self.core.in_background.store(background, Ordering::Relaxed);
    }

    /// What the operations do that this context keeps ready, and why that way: products, filters, elementwise operations, and the rest, of
    /// each the 1024 used last. Regions of one size at different places, and blocks of matrices, are one operation. What was left to the CPU path says so in [`Explanation::fallback`].
    pub fn explain(&self) -> Vec<Explanation> {
        let KeptOperations { filters, products, simple, maps } = self.kept();
        let products = products.all().into_iter().map(|product| product.explain());
        let filters = filters.all().into_iter().map(|filter| filter.explain());
        let maps = maps.all().into_iter().map(|map| map.explain());
        let simple = simple.all().into_iter().map(|simple| simple.explain());
        products.chain(filters).chain(maps).chain(simple).collect()
    }

    /// Whether the CPU path does what it does in clearly less time than the OpenCL device, as it does when nothing is said: a launch alone
    /// costs more than a small product. Operations that both do in milliseconds (268 M operations and 32 MiB of operands at the most)
    /// are tried both ways when they are made, behind all that is queued then, and the way that is taken stays;
    /// [`crate::Explanation::fallback`] says so. Sums of floating-point numbers may differ between the two in their last bits: say no
    /// where every run of a program must give the same. Operations made before stay as they are, and those whose kernels are
    /// [built in the background](Self::build_in_background), products of packed operands and the work of a [`crate::Team`] are the device's.
    pub fn fall_back_when_slower(&self, fall_back: bool) {
        self.core.falls_back_when_slower.store(fall_back, Ordering::Relaxed);
    }

    /// Parameters of products: the user's, from the folder that `TRIPIPE_TABLES` names, else `tripipe/gemm` in the folder
    /// for settings, ahead of those that are shipped.
    ///
    /// # Errors
    /// A file of the user's that cannot be read, or is no table.
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

    /// The builds beside operations, where there are to be any.
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

    /// What was queued here.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// Waits until all that was queued has ended, well or not.
    pub(crate) fn settle(&self) {
        self.line.settle();
    }

    fn finish(&self) -> Result<(), Error> {
        self.settle();
        self.line.failure()
    }
}

impl Kernels {
    /// The executor, for as long as the guard is held. Waiting for the device is done without it.
    pub(crate) fn executor(&self) -> MutexGuard<'_, Runner> {
        lock(&self.runner)
    }

    /// The bindings of a new plan, which forget memory that is released.
    pub(crate) fn bindings(&self) -> Arc<Mutex<Bindings>> {
        let made = Arc::default();
        let mut all = lock(&self.bindings);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        made
    }

    /// Notes that `bindings` are over that memory.
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

    /// The number of a run that begins now.
    pub(crate) fn next_run(&self) -> u64 {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }

    /// Frees memory of other plans that did not run for the longest time, until so many bytes more fit the limit of all.
    pub(crate) fn limit_scratch(&self, executor: &mut dyn Executor, bytes: usize) {
        let limit = (self.probe.global_memory_bytes / SCRATCH_PART).max(SCRATCH_BYTES);
        self.free_scratch(executor, limit.saturating_sub(bytes as u64));
    }

    /// Frees memory of plans that did not run for the longest time, until no more than so many bytes are left. Plans that are being run
    /// are left out.
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

    /// Frees memory; what is queued still has it until it ended.
    pub(crate) fn release(&self, memory: MemoryId) {
        // Bindings are locked ahead of the executor, and all of them not at once.
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

/// What a lock holds, also after a thread died with it.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
