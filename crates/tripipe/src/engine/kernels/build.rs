//! Kernels that are built on another thread while the CPU path does the work.

#[cfg(feature = "cpu")]
use std::sync::mpsc::TryRecvError;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::driver::BuiltProgram;
use tripipe_kernels::{Plan, Role};
use tripipe_launch::locks::lock;

use super::Kernels;
use super::planned::Planned;
use crate::{Error, process};

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
    made: Receiver<Made>,
}

/// The output of a build thread. A program that does not build is left out; the operation that needs it builds it
/// again, to get the error.
#[derive(Default)]
struct Made {
    programs: Vec<BuiltProgram>,
    seconds: f64,
}

impl Build {
    /// Starts building what the plan needs on another thread; `None` when nothing is left to build, or no other thread
    /// can do it.
    pub(super) fn begin(builds: &Builds, kernels: &Kernels, plan: &Plan<'static>) -> Option<Self> {
        let task = kernels.runner().builder(plan)?;
        let (sender, made) = channel();
        let build = move || {
            let start = Instant::now();
            let programs = task();
            // The receiver may be gone.
            let _ = sender.send(Made { programs, seconds: start.elapsed().as_secs_f64() });
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

    /// The plan with its kernels; `None` while they are being built, if the CPU path does the operation until then.
    /// Without the feature `cpu`, waits for them.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    pub(super) fn planned(&self, kernels: &Arc<Kernels>) -> Result<Option<&Planned>, Error> {
        #[cfg(feature = "cpu")]
        return self.take(kernels, |made| match made.try_recv() {
            Ok(made) => Some(made),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Made::default()),
        });
        #[cfg(not(feature = "cpu"))]
        self.wait(kernels)
    }

    /// The plan with its kernels, once they are built.
    ///
    /// # Errors
    /// As [`Self::planned`].
    pub(super) fn wait(&self, kernels: &Arc<Kernels>) -> Result<Option<&Planned>, Error> {
        self.take(kernels, |made| Some(made.recv().unwrap_or_default()))
    }

    /// The plan with its kernels, which `receive` takes from the thread that builds them; `None` if it does not. A thread that
    /// panicked has sent nothing, and built nothing.
    fn take(
        &self,
        kernels: &Arc<Kernels>,
        receive: impl FnOnce(&Receiver<Made>) -> Option<Made>,
    ) -> Result<Option<&Planned>, Error> {
        if self.planned.get().is_none() {
            let mut under_way = lock(&self.under_way);
            if let Some(UnderWay { plan, made }) = &*under_way {
                let Some(made) = receive(made) else { return Ok(None) };
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
