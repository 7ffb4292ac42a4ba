//! Kernels that are built on another thread while the CPU path does the work, and what is being built.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
#[cfg(feature = "opencl")]
use std::sync::{Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::driver::BuiltProgram;
use tripipe_kernels::{Plan, Role};
use tripipe_launch::locks::lock;

use super::Kernels;
use super::planned::Planned;
use crate::{Error, process};

/// Kernels that a driver's compiler is building.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compilation {
    /// The names of the kernels.
    pub kernels: String,
    /// The time since it began.
    pub elapsed: Duration,
}

/// The names of kernels, and the beginning of their compilation.
type StartedCompilation = Arc<(String, Instant)>;

/// The compilations of a device, on all threads, in the order in which they began.
#[derive(Clone, Default)]
pub(super) struct Compilations(Arc<Mutex<Vec<StartedCompilation>>>);

/// Lists a compilation until it is dropped.
pub(super) struct Compiling {
    all: Compilations,
    this: StartedCompilation,
}

impl Compilations {
    /// Adds that of the kernels of a plan.
    pub(super) fn begin(&self, plan: &Plan<'static>) -> Compiling {
        let mut kernels: Vec<&str> = Vec::new();
        for launch in plan.preparation().iter().chain(plan.launches()) {
            if !kernels.contains(&launch.entry.as_str()) {
                kernels.push(&launch.entry);
            }
        }
        let this = Arc::new((kernels.join(", "), Instant::now()));
        lock(&self.0).push(Arc::clone(&this));
        Compiling { all: self.clone(), this }
    }

    pub(super) fn list(&self) -> Vec<Compilation> {
        let compilation =
            |one: &StartedCompilation| Compilation { kernels: one.0.clone(), elapsed: one.1.elapsed() };
        lock(&self.0).iter().map(compilation).collect()
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        lock(&self.all.0).retain(|one| !Arc::ptr_eq(one, &self.this));
    }
}

/// The builds of all contexts that have begun on another thread and have not ended.
static UNDER_WAY: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Counts a build until it is dropped. A process that ends by `exit` waits for it, as dropping [`Builds`] does:
/// contexts in statics, such as those of an interpreter, are never dropped.
struct CountedBuild;

impl CountedBuild {
    fn begin() -> Self {
        #[cfg(feature = "opencl")]
        {
            static AT_EXIT: Once = Once::new();
            // The driver is loaded, so its own handlers run later.
            AT_EXIT.call_once(|| {
                tripipe_opencl::at_exit(wait_for_all);
            });
        }
        *lock(&UNDER_WAY.0) += 1;
        Self
    }
}

impl Drop for CountedBuild {
    fn drop(&mut self) {
        *lock(&UNDER_WAY.0) -= 1;
        UNDER_WAY.1.notify_all();
    }
}

#[cfg(feature = "opencl")]
extern "C" fn wait_for_all() {
    let mut left = lock(&UNDER_WAY.0);
    while *left > 0 {
        left = UNDER_WAY.1.wait(left).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The background builds of a context. Dropping it waits for builds in progress: a compiler that is still running when
/// the process ends may crash the process.
#[derive(Default)]
pub(crate) struct Builds(Mutex<Vec<JoinHandle<()>>>);

/// A plan whose kernels are being built, or have been built.
pub(super) struct Build {
    planned: OnceLock<Planned>,
    /// The operands that can begin later than the plan says.
    can_move: Vec<Role>,
    /// `Some` until it is planned.
    under_way: Mutex<Option<UnderWay>>,
}

struct UnderWay {
    plan: Plan<'static>,
    made: Receiver<BuildOutput>,
}

/// The output of a build thread. A program that does not build is left out; the operation that needs it builds it
/// again, to get the error.
#[derive(Default)]
struct BuildOutput {
    programs: Vec<BuiltProgram>,
    seconds: f64,
}

impl Build {
    /// Starts building what the plan needs on another thread; `None` when nothing is left to build, or no other thread
    /// can do it.
    pub(super) fn begin(builds: &Builds, kernels: &Kernels, plan: &Plan<'static>) -> Option<Self> {
        let task = kernels.runner().builder(plan)?;
        let (sender, made) = channel();
        let compiling = kernels.compilations.begin(plan);
        let counted = CountedBuild::begin();
        let build = move || {
            let start = Instant::now();
            let programs = task();
            drop((compiling, counted));
            // The receiver may be gone.
            let _ = sender.send(BuildOutput { programs, seconds: start.elapsed().as_secs_f64() });
        };
        let thread = thread::Builder::new().name("tripipe-build".to_owned()).spawn(build).ok()?;
        let mut builds = lock(&builds.0);
        builds.retain(|build| !build.is_finished());
        builds.push(thread);
        let can_move = plan.operands().filter(|operand| plan.can_move(*operand)).collect();
        let under_way = UnderWay { plan: plan.clone(), made };
        Some(Self { planned: OnceLock::new(), can_move, under_way: Mutex::new(Some(under_way)) })
    }

    /// Whether an operand can begin later than the plan says.
    pub(super) fn can_move(&self, operand: Role) -> bool {
        self.can_move.contains(&operand)
    }

    /// The plan with its kernels; `None` if they are not built after `longest`, and the CPU path does the operation until
    /// then. Without the feature `cpu`, waits until they are.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    pub(super) fn planned(
        &self,
        kernels: &Arc<Kernels>,
        longest: Duration,
    ) -> Result<Option<&Planned>, Error> {
        let longest = if cfg!(feature = "cpu") { longest } else { Duration::MAX };
        if self.planned.get().is_none() {
            let mut under_way = lock(&self.under_way);
            if let Some(UnderWay { plan, made }) = &*under_way {
                let made = match made.recv_timeout(longest) {
                    Ok(made) => made,
                    Err(RecvTimeoutError::Timeout) => return Ok(None),
                    // A thread that panicked has sent nothing, and built nothing.
                    Err(RecvTimeoutError::Disconnected) => BuildOutput::default(),
                };
                kernels.runner().adopt(made.programs)?;
                let planned = Planned::new(kernels, plan.clone())?.built_beside(made.seconds);
                self.planned.get_or_init(|| planned);
                *under_way = None;
            }
        }
        Ok(self.planned.get())
    }
}

impl Drop for Builds {
    fn drop(&mut self) {
        // The threads of another process never end in this one.
        if process::check().is_err() {
            return;
        }
        for thread in std::mem::take(&mut *lock(&self.0)) {
            // A thread that panicked has built nothing; this was seen before.
            let _ = thread.join();
        }
    }
}
