//! A context: a device, its queue, and the operations built for it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tripipe_cache::CacheChoice;
use tripipe_device::Probe;
use tripipe_kernels::Table;
use tripipe_launch::Executor;
#[cfg(feature = "opencl")]
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

#[cfg(feature = "cpu")]
use crate::cpu::Threads;
#[cfg(feature = "cpu")]
use crate::engine::host::HostPath;
use crate::engine::kernels::{Compilation, Kernels};
use crate::engine::{Core, Engine};
use crate::error::Fault;
use crate::explanation::{Arithmetic, Ceilings, Explanation};
use crate::operation_cache::OperationCache;
use crate::operation_queue::OperationQueue;
use crate::{Device, Error, process};

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
    cache: Arc<OperationCache>,
    table: Arc<OnceLock<Table>>,
}

impl Context {
    /// Options for a new context.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// A context on `device` with the default options.
    ///
    /// # Errors
    /// As [`ContextBuilder::build`].
    pub fn new(device: &Device) -> Result<Self, Error> {
        Self::builder().build(device)
    }

    /// The threads that an operation of the CPU path uses, as [`ContextBuilder::threads`] sets them.
    #[cfg(feature = "cpu")]
    pub fn threads(&self) -> Threads {
        self.core.options().threads
    }

    /// The device's name for display.
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// The properties that the device reports; `None` for the CPU path.
    pub fn probe(&self) -> Option<&Probe> {
        self.core.probe()
    }

    /// Checks that this process can use contexts. The child of a `fork` has none of the threads of its parent's
    /// contexts, and those of a driver are missing as well: what would wait for them fails instead, here and in every
    /// operation.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`](crate::ErrorKind::Forked).
    pub fn check_process(&self) -> Result<(), Error> {
        process::check()
    }

    /// Waits until all queued operations have ended.
    ///
    /// # Errors
    /// The first failure of an operation that was not reported yet, once; this process was
    /// [forked](Self::check_process).
    pub fn finish(&self) -> Result<(), Error> {
        process::check()?;
        self.core.finish()
    }

    /// The kernels that the driver's compiler is building at this moment, on any thread: what a first call waits for,
    /// and what is built in the background. From another thread, this says why a call takes long.
    pub fn compilations(&self) -> Vec<Compilation> {
        self.core.engine().compilations()
    }

    /// The ceilings of the device for a type: as [measured](Self::measure_ceilings), now or before, otherwise those of the GPU's
    /// model. `None` for a device without a model that was not measured.
    pub fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        self.core.ceilings(arithmetic)
    }

    /// Measures the ceilings that explanations of operations in this type are compared with; takes about a second. They
    /// are kept in the cache folder: what was measured before on the same device and driver, by this version of the
    /// library, is not measured again. On a virtual GPU nothing is measured: the ceilings are those of its model.
    ///
    /// # Errors
    /// The device does not offer the type, failed, or computed something wrong.
    pub fn measure_ceilings(&self, arithmetic: Arithmetic) -> Result<Ceilings, Error> {
        self.core.measure_ceilings(arithmetic)
    }

    /// Whether both are the same context.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// What the operations in this context's cache do, and why they do it that way: products, filters, elementwise
    /// operations, and the rest, the 1024 last used of each. Regions of one size at different offsets are one
    /// operation, and so are blocks of matrices. [`Explanation::fallback`] is set for operations left to the CPU path.
    pub fn explain(&self) -> Vec<Explanation> {
        self.cache.all().into_iter().map(|operation| operation.explain()).collect()
    }

    /// Times of kernels and parameters of products: the user's, from the folder that `TRIPIPE_TABLES` names, otherwise from `tripipe/gemm`
    /// in the folder for settings; they precede those that are shipped.
    ///
    /// # Errors
    /// The folder that `TRIPIPE_TABLES` names does not exist; a file of the user's that cannot be read, or is not a
    /// table.
    pub(crate) fn table(&self) -> Result<&Table, Error> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = Table::load(folder_of_tables().as_deref())?;
        Ok(self.table.get_or_init(|| table))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn operation_cache(&self) -> &OperationCache {
        &self.cache
    }
}

/// The folder of the user's tables: the one that `TRIPIPE_TABLES` names, or that for settings, if there is one.
fn folder_of_tables() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TRIPIPE_TABLES").filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let folder = dirs::config_dir()?.join("tripipe").join("gemm");
    folder.try_exists().unwrap_or(true).then_some(folder)
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Context").field(&self.core.name()).finish()
    }
}

/// Options of a context that is to be made.
#[derive(Clone, Debug)]
#[must_use = "`build` makes the context"]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option")]
pub struct ContextBuilder {
    pub(crate) longest_build: Duration,
    pub(crate) cpu_when_faster: bool,
    pub(crate) predictions: bool,
    profiling: bool,
    #[cfg(feature = "cpu")]
    pub(crate) threads: Threads,
    pub(crate) cache: CacheChoice,
    /// The time that tuning of a new shape may take; `None` without tuning.
    pub(crate) tuning_budget: Option<Duration>,
}

impl Default for ContextBuilder {
    fn default() -> Self {
        Self {
            longest_build: Duration::from_secs(1),
            cpu_when_faster: true,
            predictions: true,
            profiling: true,
            #[cfg(feature = "cpu")]
            threads: Threads::All,
            cache: CacheChoice::default(),
            tuning_budget: None,
        }
    }
}

impl ContextBuilder {
    /// Sets how long an operation waits for the driver's compiler; the default is a second. Then another thread goes on
    /// building its kernels, the CPU path does the operation until they are built, and [`crate::Explanation::fallback`]
    /// says so. This holds for operations that the CPU path [may do anyway](Self::cpu_when_faster): it takes them tens of
    /// milliseconds. With [`Duration::ZERO`] it holds for all, and none waits, with [`Duration::MAX`] for none. Products
    /// of packed operands always wait for their kernels: only these can read them. Without the feature `cpu`, everything
    /// does. Dropping the context waits for builds in progress.
    pub fn longest_build(mut self, longest_build: Duration) -> Self {
        self.longest_build = longest_build;
        self
    }

    /// Sets whether the CPU path does operations that it does in clearly less time than the OpenCL device; the default
    /// is yes: a launch alone costs more than a small product. Operations that take milliseconds on both (at most 268 M
    /// operations and 32 MiB of operands; on an OpenCL device that is the CPU, at most 2^38 and 1 GiB) are tried on
    /// both when they are made, after everything queued so far, and the choice is then fixed;
    /// [`crate::Explanation::fallback`] says so. Sums of floating-point numbers may differ between the two in their
    /// last bits: pass `false` where every run of a program must give the same result. Operations whose kernels take
    /// [long to build](Self::longest_build) are tried once these are built. Products of packed operands
    /// and the work of a [`crate::Team`] always run on the device. Without the feature `cpu` everything does.
    pub fn cpu_when_faster(mut self, cpu_when_faster: bool) -> Self {
        self.cpu_when_faster = cpu_when_faster;
        self
    }

    /// Sets whether explanations predict times by the timing model, with the feature `virtual` and on a GPU that has a
    /// model; the default is yes. The first explanation of an operation then takes up to seconds, and needs clang.
    pub fn predictions(mut self, predictions: bool) -> Self {
        self.predictions = predictions;
        self
    }

    /// Sets whether the device's own times are taken; the default is yes. Without them an operation has less overhead
    /// before its start (6 us less on an NVIDIA H200), and [`crate::Event::seconds`] and explanations have no times.
    pub fn profiling(mut self, profiling: bool) -> Self {
        self.profiling = profiling;
        self
    }

    /// Sets how many threads each operation of the CPU path uses, with the one that runs it: on the CPU path, and where it
    /// stands in for a device. The default is all.
    #[cfg(feature = "cpu")]
    pub fn threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// Sets where the context keeps what it measures: times of [tuning](Self::tune_on_first_use) and ceilings. The default
    /// is the cache that the environment selects. Programs are cached as the executor's options say.
    pub fn cache(mut self, cache: CacheChoice) -> Self {
        self.cache = cache;
        self
    }

    /// Tunes products and filters on their first use: the first time a product of a shape and type is made, or a chain of
    /// filters for images of a size, kernels are measured on the device for about `budget`, those that an estimate expects to
    /// be fastest first, and the fastest is used. It is remembered in the cache folder for this device, its driver and this
    /// version of the library, so the next process that asks for this uses it at once. [`Explanation::why`] says so.
    ///
    /// Each kernel runs on memory of its own, and parts of its result are compared with a reference before its time
    /// counts. At most 512 MiB and an eighth of the device's memory are used; larger products and images are not tuned. A
    /// kernel whose measurement has begun is completed, its build by the driver included, so this can take longer than
    /// `budget`. The call that makes a product or a filter waits for it.
    ///
    /// Kernels are measured in the process of the application: one that crashes or hangs the driver ends it. What is
    /// measured is noted in the cache folder before it starts, so it is not tried again with that driver; if the folder
    /// cannot be written, nothing is remembered. `tripipe tune` measures in processes of their own, and tries more.
    ///
    /// The context is refused if the budget is zero, on the CPU path, whose operations have no parameters, and on a virtual
    /// GPU, whose times are predicted.
    pub fn tune_on_first_use(mut self, budget: Duration) -> Self {
        self.tuning_budget = Some(budget);
        self
    }

    /// A context on `device`.
    ///
    /// # Errors
    /// The driver refuses a context or a queue; the device is gone; there is [nothing to tune](Self::tune_on_first_use); the
    /// file that `TRIPIPE_TRACE` names cannot be written; this process was [forked](Context::check_process).
    pub fn build(&self, device: &Device) -> Result<Context, Error> {
        process::check()?;
        match device {
            #[cfg(feature = "cpu")]
            Device::Cpu => {
                let queue = Arc::default();
                let path = HostPath::new(Arc::clone(&queue));
                self.build_with(device.name(), Box::new(path), queue)
            }
            #[cfg(not(feature = "opencl"))]
            Device::OpenCl(none) => match *none {},
            #[cfg(feature = "opencl")]
            Device::OpenCl(opencl) => {
                self.build_over(OpenClExecutor::new(opencl, &ExecutorOptions::default())?)
            }
            #[cfg(feature = "virtual")]
            Device::Virtual(device) => self.build_over(device.executor()),
        }
    }

    /// A context on any executor of kernels: an OpenCL device with options of its own, one over an OpenCL context or a
    /// queue of the application, a simulated GPU.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_over(&self, executor: impl Executor + Send + 'static) -> Result<Context, Error> {
        let queue = Arc::default();
        let kernels = Kernels::new(executor, Arc::clone(&queue));
        self.build_with(kernels.name().to_owned(), Box::new(kernels), queue)
    }

    fn build_with(
        &self,
        name: String,
        engine: Box<dyn Engine>,
        queue: Arc<OperationQueue>,
    ) -> Result<Context, Error> {
        process::check()?;
        #[cfg(feature = "trace")]
        crate::trace::start_from_environment()?;
        let nothing_to_tune = match self.tuning_budget {
            Some(_) if engine.probe().is_none() => Some("the CPU path has no kernels to choose among"),
            Some(_) if engine.time_source().is_predicted() => {
                Some("times of a virtual GPU are predicted, and `tripipe tune` makes tables of them")
            }
            Some(budget) if budget.is_zero() => {
                Some("the budget is zero: give the time that a new product or filter may take, such as 2 s")
            }
            Some(_) | None => None,
        };
        if let Some(reason) = nothing_to_tune {
            return Err(Error::from(Fault::NothingToTune { device: name, reason }));
        }
        if !self.profiling {
            engine.take_times(false);
        }
        let core = Arc::new(Core::new(name, engine, queue, self.clone()));
        Ok(Context { core, cache: Arc::default(), table: Arc::default() })
    }
}
